// The host's look: its colours and fonts as it names them, light or dark.
import { isObject, own } from './value.js';

export function applyStyles(context, document) {
  const root = document.documentElement;
  const theme = own(context, 'theme');
  if (theme === 'light' || theme === 'dark') root.style.colorScheme = theme;
  const variables = own(own(context, 'styles'), 'variables');
  for (const [name, value] of Object.entries(isObject(variables) ? variables : {})) {
    if (/^--[a-z0-9-]+$/.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  }
  const insets = own(context, 'safeAreaInsets');
  if (isObject(insets)) {
    for (const side of ['top', 'right', 'bottom', 'left']) {
      if (Number.isFinite(insets[side])) document.body.style.setProperty(`padding-${side}`, `${insets[side]}px`);
    }
  }
}
