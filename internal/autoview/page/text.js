// What is no data: texts, pictures, links, and the answer as it came.
import { h } from './dom.js';
import { draw } from './format.js';
import { isLink } from './value.js';

const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

export function drawText({ read, env }) {
  const texts = read.value === undefined || read.failed ? read.texts : read.texts.slice(1);
  const parts = texts.filter((t) => t.trim() !== '').map((t) => h('div', { class: read.failed ? 'prose fault' : 'prose' }, t.length > 50000 ? `${t.slice(0, 50000)}…` : t));
  for (const block of read.media.slice(0, 20)) {
    const type = String(block.mimeType).toLowerCase();
    const source = `data:${type};base64,${block.data.replace(/[^A-Za-z0-9+/=]/g, '')}`;
    if (block.type === 'image' && pictures.has(type)) parts.push(h('img', { src: source, alt: 'The picture that the tool gave' }));
    else if (block.type === 'audio' && /^audio\/[a-z0-9.+-]+$/.test(type)) parts.push(h('audio', { src: source, controls: true }));
    else parts.push(h('p', { class: 'faint' }, `${type.slice(0, 60)}, which is not shown`));
  }
  for (const link of read.links.slice(0, 50)) {
    const label = String(link.title ?? link.name ?? link.uri).slice(0, 120);
    parts.push(h('p', {}, isLink(link.uri) ? h('button', { type: 'button', class: 'link', onclick: () => env.open(link.uri) }, label) : `${label}: ${link.uri.slice(0, 300)}`));
  }
  return h('div', { class: 'texts' }, parts.length > 0 ? parts : h('p', { class: 'faint' }, read.failed ? 'The call failed, and nothing was said of why.' : 'The tool said nothing.'));
}

export function drawRaw({ read }) {
  const { text, cut } = draw(read.whole);
  return h('div', {}, h('pre', { tabindex: '0', 'aria-label': 'The answer as JSON' }, text), cut && h('p', { class: 'faint' }, 'There is more of it than is shown here.'));
}
