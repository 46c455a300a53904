// Elements out of plain data. Whatever a server says becomes text here: nothing in
// this page parses markup, and attributes with a value from outside are never
// addresses or scripts.

// h makes an element: h('button', { class: 'quiet', onclick: f }, 'Save', icon).
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

// svg is h for drawings.
export function svg(tag, props, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'value' || name === 'checked' || name === 'disabled' || name === 'selected' || name === 'open') node[name] = value;
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== undefined && child !== null && child !== false) node.append(child);
  }
}

// show puts children in the place of those that a node has.
export function show(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}
