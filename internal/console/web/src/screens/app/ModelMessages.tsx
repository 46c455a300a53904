import type { Snapshot } from '../../apps/state';
import { Ago, Panel } from '../../parts/elements';
import { Json } from '../../parts/Json';
import { Content } from '../../parts/Result';

// ModelMessages is what the App wants a model to hear. There is none here: the person
// sees it.
export function ModelMessages({ messages, model }: { messages: Snapshot['messages']; model: Snapshot['model'] }) {
  return (
    <div className="stack">
      <Panel title="Context for the model" acts={model && <Ago at={model.at.toISOString()} />} pad>
        {model ? (
          <div className="stack">
            {(model.content ?? []).map((c, i) => (
              <Content key={i} block={c} />
            ))}
            {model.structured !== undefined && <Json value={model.structured} />}
          </div>
        ) : (
          <p className="soft">The App has sent no context. Only the latest context counts.</p>
        )}
      </Panel>
      <Panel title="Messages in your name" pad>
        {messages.length === 0 ? (
          <p className="soft">No messages yet. In a room, they appear as if you had written them.</p>
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
