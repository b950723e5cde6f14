// What is used of marked.
export class Marked {
  constructor(options?: { gfm?: boolean; breaks?: boolean; renderer?: { html?(token: { text: string }): string } });
  parse(text: string): string;
}
