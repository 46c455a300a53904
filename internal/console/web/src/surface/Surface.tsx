import './surface.css';
import { Puzzle } from 'lucide-react';
import { type FC, lazy, Component as Part, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { AppFrame } from './AppFrame';
import { actOf, type SurfaceAction } from './actions';
import * as bank from './bank';
import * as basic from './basic';
import { type Drawn, draws } from './catalog';
import { put } from './data';
import * as inputs from './inputs';
import * as layout from './layout';
import { type Place, type Stage, StageContext } from './stage';
import { type Branch, grow, type Problem, type Surface as Sent, split, strangers } from './tree';

const MapView = lazy(() => import('./MapView'));

const drawn: Record<Drawn, FC<Place>> = {
  Text: basic.Text,
  Image: basic.Image,
  Icon: basic.Icon,
  Video: basic.Video,
  AudioPlayer: basic.AudioPlayer,
  Button: basic.Button,
  Row: layout.Row,
  Column: layout.Column,
  List: layout.List,
  Card: layout.Card,
  Tabs: layout.Tabs,
  Modal: layout.Modal,
  Divider: layout.Divider,
  TextField: inputs.TextField,
  CheckBox: inputs.CheckBox,
  ChoicePicker: inputs.ChoicePicker,
  Slider: inputs.Slider,
  DateTimeInput: inputs.DateTimeInput,
  AccountCard: bank.AccountCard,
  AccountOverview: bank.AccountOverview,
  AccountDetail: bank.AccountDetail,
  TransactionList: bank.TransactionList,
  CreditCardSummary: bank.CreditCardSummary,
  MortgageDetail: bank.MortgageDetail,
  SavingsSummary: bank.SavingsSummary,
  'googlemaps:MapView': ({ b }) => (
    <Suspense fallback={<div className="sf-map-box" aria-busy />}>
      <MapView b={b} />
    </Suspense>
  ),
  'mcp:AppFrame': AppFrame,
};

// Surface draws what an agent sent as interface. tell has the agent hear what a
// person did; report, what could not be drawn, once for each surface.
export default function Surface({
  surface,
  agent,
  busy,
  tell,
  report,
}: {
  surface: Sent;
  agent: string;
  busy: boolean;
  tell: (d: SurfaceAction) => void;
  report: (problems: Problem[]) => void;
}) {
  const [state, setState] = useState({ of: surface, data: surface.data });
  // Another surface under the same id begins with its own data.
  if (state.of !== surface) setState({ of: surface, data: surface.data });
  const { root, problems } = useMemo(() => grow(surface, state.data), [surface, state.data]);
  useEffect(() => {
    const wrong = [...strangers(surface, draws), ...grow(surface, surface.data).problems];
    if (wrong.length > 0) report(wrong);
  }, [surface, report]);

  const stage = useMemo<Stage>(
    () => ({
      surface,
      agent,
      busy,
      data: state.data,
      set: (path, value) => setState((s) => ({ ...s, data: put(s.data, path, value) })),
      act: (action, component, world, how) => {
        const act = actOf(action, surface, component, world, how);
        if (act.kind === 'tell') tell(act.deed);
        if (act.kind === 'open') window.open(act.url, '_blank', 'noopener,noreferrer');
      },
      draw: (b) => <Draw key={b.key} b={b} />,
    }),
    [surface, agent, busy, state.data, tell],
  );
  return (
    <StageContext.Provider value={stage}>
      <section className="surface" aria-label={`Shown by ${agent}`} data-surface={surface.id}>
        {root ? <Draw b={root} /> : <p className="small soft">{problems[0]?.message ?? 'This surface is empty.'}</p>}
      </section>
    </StageContext.Provider>
  );
}

function Draw({ b }: { b: Branch }) {
  const name = b.of.component;
  if (!draws(name)) return <Unknown name={name} />;
  const One = drawn[name];
  return (
    <Guarded name={name}>
      <One b={b} />
    </Guarded>
  );
}

// Unknown stands in the place of a component that nobody here can draw.
function Unknown({ name }: { name: string }) {
  const { namespace, name: own } = split(name);
  return (
    <div className="sf-unknown" role="note" data-unknown={name}>
      <Puzzle size={16} aria-hidden />
      <span>
        <b>{own}</b> {namespace && <span className="soft">of {namespace}</span>} cannot be shown here. The agent is told.
      </span>
    </div>
  );
}

// Guarded keeps the fault of one component to its place.
class Guarded extends Part<{ name: string; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError = () => ({ failed: true });

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <div className="sf-unknown" role="note">
        <Puzzle size={16} aria-hidden />
        <span>
          <b>{this.props.name}</b> could not be shown.
        </span>
      </div>
    );
  }
}
