import { lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { useMe } from '../api/data';
import { ErrorCard, Loading } from '../parts/states';
import { NotFound } from './NotFound';
import { Session } from './Session';
import { Shell } from './Shell';

const Overview = lazy(() => import('../screens/Overview'));
const Start = lazy(() => import('../screens/Start'));
const Attention = lazy(() => import('../screens/Attention'));
const Servers = lazy(() => import('../screens/Servers'));
const AddServer = lazy(() => import('../screens/AddServer'));
const ServerPage = lazy(() => import('../screens/ServerPage'));
const Gallery = lazy(() => import('../screens/Gallery'));
const AddPack = lazy(() => import('../screens/gallery/AddPack'));
const Tools = lazy(() => import('../screens/Tools'));
const ToolPage = lazy(() => import('../screens/ToolPage'));
const Playground = lazy(() => import('../screens/Playground'));
const Apps = lazy(() => import('../screens/Apps'));
const AppPage = lazy(() => import('../screens/AppPage'));
const Agents = lazy(() => import('../screens/Agents'));
const AgentPage = lazy(() => import('../screens/AgentPage'));
const Models = lazy(() => import('../screens/Models'));
const Chat = lazy(() => import('../screens/Chat'));
const Calls = lazy(() => import('../screens/Calls'));
const CallPage = lazy(() => import('../screens/CallPage'));
const Usage = lazy(() => import('../screens/Usage'));
const Audit = lazy(() => import('../screens/Audit'));
const Events = lazy(() => import('../screens/Events'));
const EventPage = lazy(() => import('../screens/EventPage'));
const Triggers = lazy(() => import('../screens/Triggers'));
const TriggerPage = lazy(() => import('../screens/TriggerPage'));
const Policies = lazy(() => import('../screens/Policies'));
const PolicyPage = lazy(() => import('../screens/PolicyPage'));
const Sources = lazy(() => import('../screens/Sources'));
const Deliveries = lazy(() => import('../screens/Deliveries'));
const DeliveryPage = lazy(() => import('../screens/DeliveryPage'));
const DeadLetters = lazy(() => import('../screens/DeadLetters'));
const Endpoints = lazy(() => import('../screens/Endpoints'));
const EndpointPage = lazy(() => import('../screens/EndpointPage'));
const Chains = lazy(() => import('../screens/Chains'));
const ChainAgents = lazy(() => import('../screens/ChainAgents'));
const ChainAgentPage = lazy(() => import('../screens/ChainAgentPage'));
const UserPage = lazy(() => import('../screens/UserPage'));
const KeyPage = lazy(() => import('../screens/KeyPage'));
const Settings = lazy(() => import('../screens/Settings'));

export function App() {
  const me = useMe();
  if (me.isPending) return <Loading page />;
  // A user who is not signed in is on the way to the sign-in page: see Session.
  if (me.error)
    return (
      <Session first>
        <main>
          <div className="screen">
            <ErrorCard error={me.error} retry={() => me.refetch()} />
          </div>
        </main>
      </Session>
    );
  return (
    <Session>
      <Shell me={me.data}>
        <Suspense fallback={<Loading page />}>
          <Switch>
            <Route path="/" component={Overview} />
            <Route path="/start" component={Start} />
            <Route path="/attention" component={Attention} />
            <Route path="/servers" component={Servers} />
            <Route path="/servers/add" component={AddServer} />
            <Route path="/servers/:id">{(p) => <ServerPage key={p.id} id={p.id} />}</Route>
            <Route path="/gallery" component={Gallery} />
            <Route path="/gallery/:id">{(p) => <AddPack key={p.id} id={p.id} />}</Route>
            <Route path="/tools" component={Tools} />
            <Route path="/tools/:name">{(p) => <ToolPage key={p.name} name={p.name} />}</Route>
            <Route path="/playground" component={Playground} />
            <Route path="/apps" component={Apps} />
            <Route path="/apps/:name">{(p) => <AppPage key={p.name} name={p.name} />}</Route>
            <Route path="/agents" component={Agents} />
            <Route path="/agents/:name">{(p) => <AgentPage key={p.name} name={p.name} />}</Route>
            <Route path="/models" component={Models} />
            <Route path="/chat">
              <Chat />
            </Route>
            <Route path="/chat/:id">{(p) => <Chat id={p.id} />}</Route>
            <Route path="/calls" component={Calls} />
            <Route path="/calls/:id">{(p) => <CallPage key={p.id} id={p.id} />}</Route>
            <Route path="/usage" component={Usage} />
            <Route path="/audit" component={Audit} />
            <Route path="/events" component={Events} />
            <Route path="/events/:id">{(p) => <EventPage key={p.id} id={p.id} />}</Route>
            <Route path="/triggers" component={Triggers} />
            <Route path="/triggers/:name">{(p) => <TriggerPage key={p.name} name={p.name} />}</Route>
            <Route path="/policies" component={Policies} />
            <Route path="/policies/:name">{(p) => <PolicyPage key={p.name} name={p.name} />}</Route>
            <Route path="/sources" component={Sources} />
            <Route path="/deliveries" component={Deliveries} />
            <Route path="/deliveries/:id">{(p) => <DeliveryPage key={p.id} id={p.id} />}</Route>
            <Route path="/dead" component={DeadLetters} />
            <Route path="/endpoints" component={Endpoints} />
            <Route path="/endpoints/one" component={EndpointPage} />
            <Route path="/chains" component={Chains} />
            <Route path="/chain-agents" component={ChainAgents} />
            <Route path="/chain-agents/one" component={ChainAgentPage} />
            <Route path="/users">
              <Redirect to="/settings?tab=users" replace />
            </Route>
            <Route path="/users/:id">{(p) => <UserPage key={p.id} id={p.id} />}</Route>
            <Route path="/keys">
              <Redirect to="/settings?tab=keys" replace />
            </Route>
            <Route path="/keys/:id">{(p) => <KeyPage key={p.id} id={p.id} />}</Route>
            <Route path="/settings" component={Settings} />
            <Route>
              <NotFound me={me.data} />
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </Session>
  );
}
