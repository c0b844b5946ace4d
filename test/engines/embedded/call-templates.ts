/** Chat templates that write calls of functions in the ways that families of models do. */

const turn = (role: string, text: string): string =>
  `{{ '<|im_start|>' + ${role} + '\\n' }}${text}{{ '<|im_end|>\\n' }}`;
const opening = `{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`;
const tools = `{% if tools %}{{ '<|im_start|>system\\nFunctions: ' + (tools | tojson) + '<|im_end|>\\n' }}{% endif %}`;

/** @param call what is written for `call`, a function with its arguments */
function template(call: string): string {
  const calls = `{% for item in message.tool_calls %}{% set call = item.function %}${call}{% endfor %}`;
  const assistant = turn("'assistant'", `{{ message.content or '' }}{% if message.tool_calls %}${calls}{% endif %}`);
  const tool = turn("'user'", `{{ '<result>' + message.content + '</result>' }}`);
  const other = turn('message.role', '{{ message.content }}');
  return (
    `${tools}{% for message in messages %}{% if message.role == 'assistant' %}${assistant}` +
    `{% elif message.role == 'tool' %}${tool}{% else %}${other}{% endif %}{% endfor %}${opening}`
  );
}

/** Each call between tags, as JSON; several in one answer. */
export const TAGGED: string = template(
  `{{ '<tool_call>\\n{"name": "' + call.name + '", "arguments": ' + (call.arguments | tojson) + '}\\n</tool_call>\\n' }}`,
);

/** One call at most, as JSON without a mark. */
export const BARE: string = template(
  `{% if message.tool_calls | length > 1 %}{{ raise_exception('one call only') }}{% endif %}` +
    `{{ '{"name": "' + call.name + '", "parameters": ' + (call.arguments | tojson) + '}' }}`,
);

/** All calls in one list between marks, which are not all of one word. */
export const LISTED: string = template('')
  .replace('{% for item in message.tool_calls %}', `{{ '[TOOL_CALLS][' }}{% for item in message.tool_calls %}`)
  .replace(
    '{% set call = item.function %}',
    `{{ '{"name": "' + item.function.name + '", "arguments": ' + (item.function.arguments | tojson) + '}' }}` +
      `{% if not loop.last %}{{ ', ' }}{% endif %}`,
  )
  .replace('{% endfor %}', `{% endfor %}{{ ']' }}`);

/** Words instead of marks: what random weights may come to by themselves. */
export const WORDED: string = template(`{{ ' call ' + call.name + ' with ' + (call.arguments | tojson) + ' done.' }}`);

/** A control token, which shows in no text, begins a call. */
export const CONTROLLED: string = template(
  `{{ '<|im_start|>tool:' + call.name + '\\n' + (call.arguments | tojson) + '<|im_start|>' }}`,
);

/** Each argument apart, text without quotes. */
export const APART: string = template(
  `{{ '<tool_call><function=' + call.name + '>' }}{% for key, value in call.arguments | items %}` +
    `{{ '<parameter=' + key + '>' }}{{ value }}{{ '</parameter>' }}{% endfor %}{{ '</function></tool_call>' }}`,
);

/** The model's turn begins within a thought. */
export const THINKING: string =
  `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}{% if message.role == 'assistant' %}` +
  `{{ '<think>' + (message.reasoning_content or '') + '</think>' }}{% endif %}{{ message.content + '<|im_end|>\\n' }}` +
  `{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>' }}{% endif %}`;
