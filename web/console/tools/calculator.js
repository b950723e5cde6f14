// Evaluates arithmetic: numbers, names of constants and functions, + - * / % ^ and
// parentheses. It reads the text itself; nothing of it is ever run as code.

/** @type {Record<string, number>} */
const CONSTANTS = { pi: Math.PI, e: Math.E };

/** @type {Record<string, (...args: number[]) => number>} */
const FUNCTIONS = {
  abs: Math.abs, ceil: Math.ceil, cos: Math.cos, exp: Math.exp, floor: Math.floor, ln: Math.log, log10: Math.log10, max: Math.max,
  min: Math.min, pow: Math.pow, round: Math.round, sin: Math.sin, sqrt: Math.sqrt, tan: Math.tan,
};

/** How tightly an operator binds, and what it does. @type {Record<string, [number, (a: number, b: number) => number]>} */
const OPERATORS = {
  '+': [1, (a, b) => a + b], '-': [1, (a, b) => a - b],
  '*': [2, (a, b) => a * b], '/': [2, (a, b) => a / b], '%': [2, (a, b) => a % b],
  '^': [4, (a, b) => a ** b],
};
const UNARY = 3; // -2^2 is -4, 2*-3 is -6

const MAX_CHARS = 2000;
const TOKEN = /\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|[a-z]\w*|[-+*/%^(),])/iy;

/**
 * @param {string} text
 * @returns {number}
 */
export function calculate(text) {
  if (text.length > MAX_CHARS) throw new Error(`the expression is longer than ${MAX_CHARS} characters`);
  return new Parser(tokens(text)).all();
}

/** @param {string} text */
function tokens(text) {
  const found = [];
  const source = text.trim();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(source);
    if (!match) throw new Error(`can't read ${JSON.stringify(source.slice(at, at + 20))}`);
    found.push(match[1].toLowerCase());
  }
  return found;
}

class Parser {
  #tokens;
  #at = 0;

  /** @param {string[]} list */
  constructor(list) { this.#tokens = list; }

  all() {
    const value = this.#expression(0);
    if (this.#at < this.#tokens.length) throw new Error(`did not expect ${this.#tokens[this.#at]}`);
    return value;
  }

  /** @param {number} least operators that bind less are left to the caller @returns {number} */
  #expression(least) {
    let left = this.#operand();
    for (;;) {
      const [binds, apply] = OPERATORS[this.#tokens[this.#at]] ?? [-1];
      if (binds <= least || !apply) return left;
      const isPower = this.#tokens[this.#at++] === '^';
      left = apply(left, this.#expression(isPower ? binds - 1 : binds)); // 2^3^2 is 2^(3^2)
    }
  }

  /** @returns {number} */
  #operand() {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Error('the expression ends too early');
    if (token === '-') return -this.#expression(UNARY);
    if (token === '+') return this.#expression(UNARY);
    if (token === '(') return this.#closed(this.#expression(0));
    if (/^[\d.]/.test(token)) return Number(token);
    if (Object.hasOwn(FUNCTIONS, token)) return this.#call(token);
    if (Object.hasOwn(CONSTANTS, token)) return CONSTANTS[token];
    throw new Error(`did not expect ${token}`);
  }

  /** @param {string} name */
  #call(name) {
    this.#expect('(');
    const args = [];
    do args.push(this.#expression(0)); while (this.#tokens[this.#at] === ',' && this.#at++ >= 0);
    return this.#closed(FUNCTIONS[name](...args));
  }

  /** @param {number} value */
  #closed(value) {
    this.#expect(')');
    return value;
  }

  /** @param {string} token */
  #expect(token) {
    if (this.#tokens[this.#at++] !== token) throw new Error(`expected ${token}`);
  }
}
