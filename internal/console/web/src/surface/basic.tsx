import { Button as Plate, UnstyledButton } from '@mantine/core';
import { type MouseEvent, useContext } from 'react';
import { ExternalLink } from '../parts/elements';
import { Markdown } from '../parts/Markdown';
import { labelOf } from './actions';
import { asText, isRecord } from './data';
import { icons } from './icons';
import { Instead, type Place, Pressed, useProps } from './stage';
import { faultOf } from './values';

// What is shown and pressed. All of it is somebody else's: texts are drawn as
// text, and nothing is fetched from anywhere for being looked at.

export function Text({ b }: Place) {
  const { text, word } = useProps(b);
  const pressed = useContext(Pressed);
  const variant = word('variant') || 'body';
  const words = text('text');
  if (pressed) return <span className={`sf-text ${variant}`}>{words}</span>;
  if (/^h[1-5]$/.test(variant)) return <p className={`sf-text ${variant}`}>{words.replace(/^#+\s+/, '')}</p>;
  return (
    <div className={`sf-text ${variant}`}>
      <Markdown text={words} />
    </div>
  );
}

const picture = /^data:image\/(png|jpe?g|gif|webp|avif|bmp);base64,[A-Za-z0-9+/=]*$/i;
const sounds = /^data:(audio|video)\/[\w.+-]+;base64,[A-Za-z0-9+/=]*$/i;
const fits: Record<string, string> = { scaleDown: 'scale-down', contain: 'contain', cover: 'cover', fill: 'fill', none: 'none' };

export function Image({ b }: Place) {
  const { text, word, label } = useProps(b);
  const url = text('url');
  const about = text('description') || label || '';
  if (!picture.test(url)) return <RemoteMedia kind="Picture" about={about} url={url} />;
  const variant = word('variant') || 'mediumFeature';
  return <img className={`sf-image ${variant}`} alt={about} src={url} data-fit={fits[word('fit')]} />;
}

// RemoteMedia is what would have to be fetched: a user who wants it follows the link.
function RemoteMedia({ kind, about, url }: { kind: string; about: string; url: string }) {
  return (
    <span className="sf-remote small">
      {kind}: <ExternalLink href={url}>{about || url}</ExternalLink>
    </span>
  );
}

export function Video({ b }: Place) {
  const { text, label } = useProps(b);
  const url = text('url');
  if (!sounds.test(url)) return <RemoteMedia kind="Video" about={label ?? ''} url={url} />;
  // biome-ignore lint/a11y/useMediaCaption: the sender has none
  return <video className="sf-video" controls src={url} aria-label={label ?? 'Video'} />;
}

export function AudioPlayer({ b }: Place) {
  const { text, label } = useProps(b);
  const url = text('url');
  const about = text('description') || label || '';
  if (!sounds.test(url)) return <RemoteMedia kind="Sound" about={about} url={url} />;
  return (
    <figure className="sf-audio">
      {about && <figcaption className="small">{about}</figcaption>}
      {/* biome-ignore lint/a11y/useMediaCaption: the sender has none */}
      <audio controls src={url} aria-label={about || 'Sound'} />
    </figure>
  );
}

export function Icon({ b }: Place) {
  const { value, label } = useProps(b);
  const name = value('name');
  if (isRecord(name) && typeof name.svgPath === 'string')
    return (
      <svg className="sf-icon" viewBox="0 0 24 24" width={20} height={20} fill="currentColor" role="img" aria-label={label ?? 'Icon'}>
        <path d={name.svgPath} />
      </svg>
    );
  const known = asText(name);
  const Drawn = Object.hasOwn(icons, known) ? icons[known] : undefined;
  if (!Drawn) return <span className="sf-icon tiny soft">{known}</span>;
  return <Drawn className="sf-icon" size={20} {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': true })} />;
}

export function Button({ b }: Place) {
  const { stage, world, word, label, about, value } = useProps(b);
  const instead = useContext(Instead);
  const fault = faultOf(b.of.checks, world);
  const child = b.child;
  const icon = child?.of.component === 'Icon';
  const shared = {
    'aria-label': label ?? (icon ? asText(child?.of.name) : undefined),
    'aria-description': about,
    title: fault || undefined,
    disabled: fault !== '' || (stage.busy && !instead),
    'data-component': b.of.id,
    onClick: (e: MouseEvent<HTMLElement>) =>
      instead ? instead() : stage.act(b.of.action, b.of.id, world, { label: label ?? labelOf(e.currentTarget) }),
  };
  // A dialog has buttons of its own.
  const inside = child && (
    <Pressed.Provider value>
      <Instead.Provider value={undefined}>{stage.draw(child)}</Instead.Provider>
    </Pressed.Provider>
  );
  const variant = word('variant');
  const primary = variant === 'primary' || value('primary') === true;
  if (child?.of.component === 'Text' || icon)
    return (
      <Plate
        className="sf-button"
        size="compact-md"
        variant={primary ? 'filled' : variant === 'borderless' ? 'subtle' : 'default'}
        {...shared}
      >
        {inside}
      </Plate>
    );
  return (
    <UnstyledButton className={`sf-press ${variant}`} {...shared}>
      {inside}
    </UnstyledButton>
  );
}
