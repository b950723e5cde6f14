// Markdown, shown safely: what a model writes is not trusted.

import DOMPurify from '../vendor/dompurify.js';
import { Marked } from '../vendor/marked.js';

// HTML is shown as the text that it is: models write it to be read. The HTML that is left
// is marked's own, and is cleaned all the same.
const marked = new Marked({ gfm: true, breaks: true, renderer: {
  html: (token) => ('block' in token && token.block ? `<p>${escape(token.text.trim()).replaceAll('\n', '<br>')}</p>` : escape(token.text)),
} });

const ALLOWED_TAGS = ['a', 'b', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'img', 'input', 'kbd', 'li',
  'ol', 'p', 'pre', 's', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'];
const ALLOWED_ATTR = ['align', 'alt', 'checked', 'disabled', 'href', 'src', 'start', 'title', 'type'];
const HIGHEST = 3; // headings of the page itself come before those of an answer

/**
 * The text as elements. HTML in it is text, links open elsewhere, and pictures become
 * links to them: looking at an answer asks nobody for anything.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function markdown(text) {
  const html = marked.parse(text);
  const fragment = DOMPurify.sanitize(html, { ALLOWED_TAGS, ALLOWED_ATTR, ALLOW_DATA_ATTR: false, RETURN_DOM_FRAGMENT: true });
  for (const image of fragment.querySelectorAll('img')) image.replaceWith(linkTo(image));
  for (const link of fragment.querySelectorAll('a')) {
    if (link.hasAttribute('href')) Object.assign(link, { target: '_blank', rel: 'noopener noreferrer' });
    else link.replaceWith(...link.childNodes); // where it led to was refused: it is text
  }
  for (const box of fragment.querySelectorAll('input')) box.replaceWith(box.checked ? '☑ ' : '☐ ');
  for (const heading of fragment.querySelectorAll('h1, h2, h3, h4, h5, h6')) lower(heading);
  for (const wide of fragment.querySelectorAll('pre, table')) scrollable(wide);
  return fragment;
}

/** @param {string} text */
function escape(text) { return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'); }

/** @param {HTMLImageElement} image */
function linkTo(image) {
  const link = document.createElement('a');
  link.textContent = image.alt || 'picture';
  const source = image.getAttribute('src');
  if (source) link.href = source;
  return link;
}

/** @param {Element} heading */
function lower(heading) {
  const level = Math.min(6, Number(heading.tagName[1]) + HIGHEST - 1);
  const replacement = document.createElement(`h${level}`);
  replacement.append(...heading.childNodes);
  heading.replaceWith(replacement);
}

/** What is wider than the page scrolls by itself, by keyboard too. @param {Element} element */
function scrollable(element) {
  const frame = document.createElement('div');
  frame.className = 'wide';
  frame.tabIndex = 0;
  frame.setAttribute('role', 'region');
  frame.setAttribute('aria-label', element.tagName === 'PRE' ? 'Code' : 'Table');
  element.replaceWith(frame);
  frame.append(element);
}
