// What is used of DOMPurify.
declare const DOMPurify: {
  sanitize(html: string, options: {
    ALLOWED_TAGS: string[]; ALLOWED_ATTR: string[]; ALLOW_DATA_ATTR: boolean; RETURN_DOM_FRAGMENT: true;
  }): DocumentFragment;
};
export default DOMPurify;
