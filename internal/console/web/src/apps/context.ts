import type { HostContext } from './protocol.ts';

// ContextOverrides replace parts of the context by others, to see how an App takes them.
export interface ContextOverrides {
  theme: '' | 'light' | 'dark';
  device: '' | 'phone' | 'tablet';
  locale: string; // "" is the browser's
  timeZone: string;
}

export const asItIs: ContextOverrides = { theme: '', device: '', locale: '', timeZone: '' };

export const devices = {
  phone: { width: 390, height: 700, insets: { top: 47, right: 0, bottom: 34, left: 0 } },
  tablet: { width: 768, height: 900, insets: { top: 24, right: 0, bottom: 20, left: 0 } },
};

const none = { top: 0, right: 0, bottom: 0, left: 0 };

// surroundings are what is true of this browser, or what the switches say.
export function surroundings(s: ContextOverrides, version: string): HostContext {
  const usual = Intl.DateTimeFormat().resolvedOptions();
  const device = s.device ? devices[s.device] : undefined;
  return {
    locale: s.locale || navigator.language,
    timeZone: s.timeZone || usual.timeZone,
    userAgent: `Junctor/${version}`,
    platform: device ? 'mobile' : 'web',
    deviceCapabilities: device
      ? { touch: true, hover: false }
      : { touch: matchMedia('(any-pointer: coarse)').matches, hover: matchMedia('(any-hover: hover)').matches },
    safeAreaInsets: device ? device.insets : none,
  };
}

// watch tells when something of it may have changed.
export function watch(changed: () => void): () => void {
  const media = ['(any-pointer: coarse)', '(any-hover: hover)'].map((q) => matchMedia(q));
  for (const m of media) m.addEventListener('change', changed);
  window.addEventListener('languagechange', changed);
  return () => {
    for (const m of media) m.removeEventListener('change', changed);
    window.removeEventListener('languagechange', changed);
  };
}

// The names that Apps know, and what of ours each stands for.
const colours: Record<string, string> = {
  'background-primary': '--panel',
  'background-secondary': '--ground',
  'background-tertiary': '--sunken',
  'background-inverse': '--ink',
  'background-info': '--act-soft',
  'background-danger': '--bad-soft',
  'background-success': '--good-soft',
  'background-warning': '--warn-soft',
  'background-disabled': '--sunken',
  'text-primary': '--ink',
  'text-secondary': '--soft',
  'text-tertiary': '--soft',
  'text-inverse': '--panel',
  'text-ghost': '--soft',
  'text-info': '--act',
  'text-danger': '--bad',
  'text-success': '--good',
  'text-warning': '--warn',
  'text-disabled': '--soft',
  'border-primary': '--line',
  'border-secondary': '--line-soft',
  'border-tertiary': '--line-soft',
  'border-inverse': '--ink',
  'border-info': '--act',
  'border-danger': '--bad',
  'border-success': '--good',
  'border-warning': '--warn',
  'border-disabled': '--line-soft',
  'ring-primary': '--act',
  'ring-secondary': '--line',
  'ring-inverse': '--panel',
  'ring-info': '--act',
  'ring-danger': '--bad',
  'ring-success': '--good',
  'ring-warning': '--warn',
};

const fixed: Record<string, string> = {
  '--color-background-ghost': 'transparent',
  '--color-border-ghost': 'transparent',
  // An App does not get the console's font files, so it is named none of them.
  '--font-sans': 'ui-sans-serif, system-ui, sans-serif',
  '--font-mono': 'ui-monospace, SFMono-Regular, Menlo, monospace',
  '--font-weight-normal': '400',
  '--font-weight-medium': '500',
  '--font-weight-semibold': '600',
  '--font-weight-bold': '700',
  '--border-radius-xs': '3px',
  '--border-radius-sm': '5px',
  '--border-radius-md': '7px',
  '--border-radius-lg': '10px',
  '--border-radius-xl': '14px',
  '--border-radius-full': '9999px',
  '--border-width-regular': '1px',
};

const sizes: Record<string, [size: string, line: string]> = {
  'text-xs': ['0.75rem', '1.4'],
  'text-sm': ['0.8125rem', '1.5'],
  'text-md': ['0.875rem', '1.5'],
  'text-lg': ['1rem', '1.5'],
  'heading-xs': ['0.875rem', '1.4'],
  'heading-sm': ['0.9375rem', '1.4'],
  'heading-md': ['1.125rem', '1.3'],
  'heading-lg': ['1.3125rem', '1.3'],
  'heading-xl': ['1.5rem', '1.25'],
  'heading-2xl': ['1.875rem', '1.2'],
  'heading-3xl': ['2.25rem', '1.15'],
};

// variables are the colours, fonts and measures for an App. read gives the value
// of one of ours where the App stands.
export function variables(read: (name: string) => string, theme: 'light' | 'dark'): Record<string, string> {
  const out: Record<string, string> = { ...fixed };
  for (const [name, own] of Object.entries(colours)) out[`--color-${name}`] = read(own);
  for (const [name, [size, line]] of Object.entries(sizes)) {
    out[`--font-${name}-size`] = size;
    out[`--font-${name}-line-height`] = line;
  }
  const shade = theme === 'dark' ? '0 0 0' : '40 36 28';
  out['--shadow-hairline'] = `0 0 0 1px rgb(${shade} / 8%)`;
  out['--shadow-sm'] = `0 1px 2px rgb(${shade} / 10%)`;
  out['--shadow-md'] = `0 3px 8px rgb(${shade} / 14%)`;
  out['--shadow-lg'] = `0 10px 28px rgb(${shade} / 20%)`;
  return out;
}

// changes are the parts of a context that are not as they were.
export function changes(before: HostContext, now: HostContext): HostContext {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(now))
    if (JSON.stringify(value) !== JSON.stringify(before[key as keyof HostContext])) out[key] = value;
  return out as HostContext;
}
