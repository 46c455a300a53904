import { looksLikeAPI } from './document.ts';

// splitCommand reads a command line as a person writes it: words, quotes and
// backslashes. No shell is involved, so nothing is expanded.
export function splitCommand(line: string): { words: string[]; problem?: string } {
  const words: string[] = [];
  let word = '';
  let begun = false;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i] as string;
    if (quote) {
      if (c === quote) quote = '';
      else if (c === '\\' && quote === '"' && i + 1 < line.length) word += line[++i];
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      begun = true;
    } else if (c === '\\' && i + 1 < line.length) {
      word += line[++i];
      begun = true;
    } else if (/\s/.test(c)) {
      if (begun) words.push(word);
      word = '';
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push(word);
  return quote ? { words, problem: `A ${quote === '"' ? 'double' : 'single'} quote is not closed.` } : { words };
}

// joinCommand writes words so that splitCommand reads the same.
export const joinCommand = (words: string[]): string =>
  words.map((w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", `'\\''`)}'`)).join(' ');

// addLine is the command line that adds a server that runs a command. Values of variables may
// be secret: the line names a file for each.
export function addLine(id: string, words: string[], env: string[] = [], cwd = ''): string {
  const flags = [...env.flatMap((name) => ['--env', `${name}=@${name}.txt`]), ...(cwd ? ['--cwd', cwd] : [])];
  return joinCommand(['junctor', 'server', 'add', id, ...flags, '--', ...words]);
}

// guess says what somebody has pasted.
export function guess(text: string): 'url' | 'command' | 'mcp.json' | 'api' {
  const t = text.trim();
  if (looksLikeAPI(t)) return 'api';
  if (t.startsWith('{')) return 'mcp.json';
  return /^https?:\/\/\S*$/i.test(t) ? 'url' : 'command';
}

// parseEnv reads NAME=value lines.
export function parseEnv(text: string): { env: Record<string, string>; problem?: string } {
  const env: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const at = line.indexOf('=');
    const name = line.slice(0, at).trim();
    if (at < 1 || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return { env, problem: `“${line.trim()}” is not NAME=value.` };
    env[name] = line.slice(at + 1);
  }
  return { env };
}

// suggestID makes a server id out of an address or a command.
export function suggestID(words: string[]): string {
  let from = words.join(' ');
  try {
    const host = new URL(from).hostname.split('.');
    from = (host.length > 1 ? host.at(-2) : host[0]) ?? '';
    if (/^\d+$/.test(from)) from = 'local';
  } catch {
    const last = words.filter((w) => !w.startsWith('-') && !/^(npx|uvx|node|python3?|bunx?|docker|run|dlx|pnpm)$/.test(w))[0] ?? '';
    from = last
      .replace(/^.*[/\\]/, '')
      .replace(/@[\d.^~x-]+$/, '')
      .replace(/\.(m?js|py|sh)$/, '')
      .replace(/^(mcp-)?server-|-mcp$|^mcp-/g, '');
  }
  return from
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 32);
}
