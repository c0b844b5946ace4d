/** Kinds of tokens, with the numbers that llama.cpp gives them in `tokenizer.ggml.token_type`. */
const TOKEN_TYPE = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;

/** How likely a token is to be said: what is added to its random logit. */
const BIAS = { never: -16, rare: -6, word: 0, punctuation: 1.5, end: 2 } as const;

export interface Vocabulary {
  readonly tokens: readonly string[];
  /** Merge scores of the SentencePiece tokenizer: longer pieces win over shorter ones. */
  readonly scores: readonly number[];
  readonly types: readonly number[];
  readonly biases: readonly number[];
  readonly beginToken: number;
  readonly endToken: number;
  readonly endOfTurnToken: number;
  readonly unknownToken: number;
}

/** SentencePiece's stand-in for a space. */
const SPACE = '\u2581';
const TURN_START = '<|im_start|>';
const TURN_END = '<|im_end|>';

/** One turn after the other between two markers, then the marker of the assistant's turn. */
export const CHAT_TEMPLATE: string =
  `{% for message in messages %}{{ '${TURN_START}' + message['role'] + '\\n' + message['content'] + '${TURN_END}' + '\\n' }}` +
  `{% endfor %}{% if add_generation_prompt %}{{ '${TURN_START}assistant\\n' }}{% endif %}`;

const WORDS = `
a able about above across act add after again against age ago agree air all allow almost alone along already also
although always am among amount an and animal another answer any anyone anything appear apple are area arm around
arrive art as ask at away baby back bad bag ball bank base be bear beat beautiful became because become bed been
before began begin behind believe below best better between big bird black blue boat body book both bottom bought
bowl box boy branch bread break bridge bright bring broken brother brought brown build built burn bus busy but buy by
call came can capital car card care carry case cat catch cause cell center century certain chair chance change check
child children choose circle city class clean clear climb close cloud coast cold color come common company complete
consider contain control cook cool copy corn corner correct cost could count country course cover cow create cross
crowd cry current cut dance dark day deal dear decide deep design desk did differ dinner direct discover dish do
doctor does dog done door down draw dream dress drink drive drop dry during each early earth east easy eat edge egg
eight either electric else end engine enough enter even evening ever every example except expect eye face fact fair
fall family famous far farm fast father favor fear feed feel feet fell felt few field fight figure fill final find
fine finger finish fire first fish five flat floor flow flower fly follow food foot for force forest form forward
found four free fresh friend from front fruit full fun game garden gas gave general get girl give glad glass go gold
gone good got grand grass gray great green grew ground group grow had hair half hand happen happy hard has hat have he
head hear heard heart heat heavy held help her here high hill him his history hit hold hole home hope horse hot hour
house how huge human hundred hurry i ice idea if imagine in inch inside instead interest into iron is island it its
job join jump just keep kept key kind king kitchen knew know lady lake land language large last late laugh law lay
lead learn least leave left leg less let letter level lie life lift light like line list listen little live lone long
look lost lot loud love low machine made main make man many map mark market matter may me mean measure meat meet
memory men metal middle might mile milk million mind minute miss model modern moment money month moon more morning
most mother motion mountain mouth move much music must my name nation nature near need never new next night nine no
noise noon nor north nose note nothing notice noun now number object observe ocean of off offer office often oil old
on once one only open or orange order other our out over own page paint pair paper park part party pass past path
pattern pay people perhaps person phone phrase picture piece place plain plan plane planet plant play please point
poor position possible pound power press pretty problem produce program protect proud prove pull push put queen
question quick quiet quite race rain raise ran reach read ready real reason record red remember repeat rest result
rich ride right ring river road rock roll room root rope round row rule run safe said sail salt same sand sat save saw
say school science sea season seat second see seed seem send sense sentence serve set seven several shade shape share
she ship shirt shoe shop short should shoulder show side sign silver simple since sing sister sit six size skin sky
sleep slow small smell smile snow so soft soil solve some son song soon sound south space speak special speed spell
spend spoke spring square stand star start state stay steam steel step still stone stood stop store story straight
strange stream street strong student study such sudden sugar summer sun sure surface swim table tail take talk tall
taste teach team tell temper ten test than that the their them then there these they thick thin thing think third this
those though thought thousand three through time tiny to today together told tomorrow tone too took tool top total
touch town train travel tree true trust try turn twelve twenty two type under until up us use usual valley value very
view visit voice wait walk wall want war warm was wash watch water wave way we wear weather week weight well went were
west what wheel when where which while white who whole why wide wife wild will win wind window wing winter wish with
within without woman women wonder wood word work world would write wrong yard year yellow yes yet you young your
`;

const PUNCTUATION = '.,!?;:';
const OTHER_CHARACTERS = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'"()[]{}<>|/\\-_+=*&^%$#@~\``;

/**
 * A SentencePiece vocabulary with byte fallback: common English words, every beginning of one (the tokenizer
 * builds words by merging, so each step has to be a token), single characters and all bytes. Always the same.
 */
export function sampleVocabulary(): Vocabulary {
  const tokens: string[] = [];
  const scores: number[] = [];
  const types: number[] = [];
  const biases: number[] = [];
  const add = (token: string, type: number, bias: number, score = 0): number => {
    scores.push(score);
    types.push(type);
    biases.push(bias);
    return tokens.push(token) - 1;
  };

  const unknownToken = add('<unk>', TOKEN_TYPE.unknown, BIAS.never);
  const beginToken = add('<s>', TOKEN_TYPE.control, BIAS.never);
  const endToken = add('</s>', TOKEN_TYPE.control, BIAS.never);
  for (let byte = 0; byte < 256; byte++) {
    const hex = byte.toString(16).toUpperCase().padStart(2, '0');
    // Never said, so that what a model says is valid UTF-8 at every token; only read.
    add(`<0x${hex}>`, TOKEN_TYPE.byte, BIAS.never);
  }
  add(TURN_START, TOKEN_TYPE.control, BIAS.never);
  const endOfTurnToken = add(TURN_END, TOKEN_TYPE.control, BIAS.end);

  const words = new Set(WORDS.trim().split(/\s+/u));
  const pieces = new Set<string>();
  for (const word of words) {
    for (let length = 0; length <= word.length; length++) pieces.add(SPACE + word.slice(0, length));
  }
  for (const piece of pieces) {
    const isWord = words.has(piece.slice(SPACE.length));
    add(piece, TOKEN_TYPE.normal, isWord ? BIAS.word : BIAS.never, piece.length);
  }
  for (const character of PUNCTUATION) add(character, TOKEN_TYPE.normal, BIAS.punctuation);
  for (const character of OTHER_CHARACTERS) add(character, TOKEN_TYPE.normal, BIAS.rare);

  return { tokens, scores, types, biases, beginToken, endToken, endOfTurnToken, unknownToken };
}
