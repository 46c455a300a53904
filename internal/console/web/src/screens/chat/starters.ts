// What a person may begin a conversation with.

interface Acting {
  agent: string;
  fault?: string;
  tools: readonly { name: string; title?: string; read_only: boolean; has_view: boolean }[];
}

const most = 4;
const longest = 60;

// startersOf makes first messages: a question to an agent, and names of tools that change
// nothing, those with an App first. Agents that cannot answer now have none.
export function startersOf(agents: readonly Acting[]): string[] {
  const able = agents.filter((a) => !a.fault);
  const alone = agents.length === 1;
  const to = (agent: string, text: string) => (alone ? text : `@${agent} ${text}`);
  const named = able.flatMap((a) =>
    a.tools
      .filter((t) => t.read_only && t.title && t.title.length <= longest)
      .map((t) => ({ app: t.has_view, text: to(a.agent, t.title ?? '') })),
  );
  named.sort((a, b) => Number(b.app) - Number(a.app));
  const questions = able.slice(0, 2).map((a) => to(a.agent, 'What can you do?'));
  return [...new Set([...questions, ...named.map((n) => n.text)])].slice(0, most);
}
