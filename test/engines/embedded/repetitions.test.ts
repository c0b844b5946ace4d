import { expect, it } from 'vitest';
import { hasEndlessRepetition } from '../../../src/engines/embedded/grammar/repetitions.js';

it.each(['root ::= "a"{5,2}', 'root ::= ( "a" ){ 4 , 1 }', 'root ::= [a]{1001}', 'root ::= a{0,100000}\na ::= "b"'])(
  'a grammar repeats without end in %s',
  (grammar) => {
    expect(hasEndlessRepetition(grammar)).toBe(true);
  },
);

it.each([
  'root ::= "a"{2,5}',
  'root ::= "a"{7}',
  'root ::= "a"{7,}',
  'root ::= "{5,2}"',
  'root ::= [{5,2}]',
  String.raw`root ::= "\"" [^"{\]] "{9,1}" # {3,2}`,
])('a grammar ends in %s', (grammar) => {
  expect(hasEndlessRepetition(grammar)).toBe(false);
});
