"use strict";
// Elements of HTML and SVG. A text is always a text, and never taken for markup.
const { h, s } = (() => {
  function make(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  }
  return {
    h: (tag, attributes, ...children) => make(document.createElement(tag), attributes, children),
    s: (tag, attributes, ...children) => make(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children),
  };
})();
