import type { Snapshot } from '../../apps/state';
import { Ago, Panel } from '../../parts/bits';
import { Json } from '../../parts/Json';
import { Content } from '../../parts/Result';

// Said is what the App wants a model to hear. There is none here: the person
// sees it.
export function Said({ messages, model }: { messages: Snapshot['messages']; model: Snapshot['model'] }) {
  return (
    <div className="stack">
      <Panel title="What a model would know now" acts={model && <Ago at={model.at.toISOString()} />} pad>
        {model ? (
          <div className="stack">
            {(model.content ?? []).map((c, i) => (
              <Content key={i} block={c} />
            ))}
            {model.structured !== undefined && <Json value={model.structured} />}
          </div>
        ) : (
          <p className="soft">The App has told nothing of its state. Only the last that it tells counts.</p>
        )}
      </Panel>
      <Panel title="What it said in your name" pad>
        {messages.length === 0 ? (
          <p className="soft">Nothing yet. In a chat it would stand there as if you had written it.</p>
        ) : (
          <div className="stack">
            {messages.map((m, i) => (
              <div key={i} className="stack tight">
                <span className="tiny soft">
                  <Ago at={m.at.toISOString()} />
                </span>
                {m.content.map((c, j) => (
                  <Content key={j} block={c} />
                ))}
              </div>
            ))}
          </div>
        )}
      </Panel>
    </div>
  );
}
