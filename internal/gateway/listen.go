package gateway

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/guard"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// interest is which changes a client wants to hear of.
type interest struct {
	tools, prompts, resources bool
	uris                      map[string]bool // as the client wrote them; true: granted
	tasks                     map[string]bool // by id, likewise; of a modern client
	session                   string          // whose tasks it hears of; of a legacy client
}

// listenHTTP serves subscriptions/listen on a POST until its client closes it or
// the gateway ends.
func (g *Gateway) listenHTTP(r *http.Request, x *exchange, rep *reply) {
	want, err := x.wanted()
	if err != nil {
		f := asFault(err, true, "")
		rep.finish(f.status, wire.AppendError(nil, x.m.ID, f.wire))
		return
	}
	ctx, release := g.holdStream(r.Context(), rep.w, x.p, x.m.ID)
	if release == nil {
		return
	}
	defer release()
	_ = http.NewResponseController(rep.w).SetWriteDeadline(time.Time{})
	x.listen(ctx, want, rep.comment)
}

// wanted reads params.notifications.
func (x *exchange) wanted() (interest, error) {
	if x.m.Wrong != "" || x.m.Notifications == nil {
		return interest{}, missing("notifications")
	}
	flag := func(name string) bool { return string(wire.Get(x.m.Notifications, name)) == "true" }
	want := interest{
		tools: flag("toolsListChanged"), prompts: flag("promptsListChanged"), resources: flag("resourcesListChanged"),
	}
	var err error
	if want.uris, err = x.wantedOf("resourceSubscriptions", "URIs"); err != nil {
		return interest{}, err
	}
	if want.tasks, err = x.wantedOf("taskIds", "ids of tasks"); err != nil {
		return interest{}, err
	}
	if len(want.tasks) > 0 && !x.caller.Tasks {
		return interest{}, needsTasks("hear of tasks")
	}
	return want, nil
}

// wantedOf reads a list of texts in params.notifications; none of them is granted.
func (x *exchange) wantedOf(name, what string) (map[string]bool, error) {
	all := map[string]bool{}
	for raw := range wire.Elements(wire.Get(x.m.Notifications, name)) {
		text, ok := wire.String(raw)
		if !ok {
			return nil, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.notifications." + name + " must be a list of " + what}
		}
		all[text] = false
	}
	return all, nil
}

// listen acknowledges what was granted and sends changes until ctx or the
// gateway ends. In the latter case it says so and answers the request.
func (x *exchange) listen(ctx context.Context, want interest, quiet func()) {
	watch := x.g.o.Catalog.Watch()
	defer watch.Stop()
	for uri := range want.uris {
		_, err := x.g.o.Pipeline.Do(ctx, x.subscription(uri, false), x)
		want.uris[uri] = err == nil
	}
	for id := range want.tasks {
		_, err := x.lookAtTask(ctx, id, true)
		want.tasks[id] = err == nil
	}
	defer func() {
		for uri, granted := range want.uris {
			if granted {
				_, _ = x.g.o.Pipeline.Do(context.WithoutCancel(ctx), x.subscription(uri, true), x)
			}
		}
	}()
	meta := subscriptionMeta(x.m.ID)
	params := append([]byte(`{"notifications":`), want.granted()...)
	params = append(append(append(params, `,"_meta":`...), meta...), '}')
	x.out.send(wire.AppendNotification(nil, wire.NoteSubscriptionsAcknowledged, params))

	tasks := x.tellTasks(ctx, meta)
	defer tasks.stop()
	tick := time.NewTicker(x.g.o.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if x.g.ctx.Err() != nil {
				x.goodbye(meta)
			}
			return
		case <-x.g.ctx.Done():
			x.goodbye(meta)
			return
		case <-watch.Ready():
			x.notify(watch.Take(), want, meta, tasks)
		case <-tick.C:
			if quiet != nil {
				quiet()
			}
		}
	}
}

// goodbye ends a subscription from this side: the specification wants the
// request cancelled on one page and answered on another.
func (x *exchange) goodbye(meta []byte) {
	cancelled := append(append([]byte(`{"requestId":`), x.m.ID...), `,"reason":"the server is stopping"}`...)
	x.out.send(wire.AppendNotification(nil, wire.NoteCancelled, cancelled))
	body := append(append([]byte(`{"_meta":`), meta...), '}')
	x.out.send(x.appendAnswer(nil, outcome{body: body}))
}

func (x *exchange) subscription(uri string, end bool) *guard.Op {
	return &guard.Op{
		Principal: x.p, Door: x.door, View: x.view, Kind: junctor.KindSubscription, Name: uri, Unsubscribe: end,
		Params: x.m.Params, Caller: x.caller,
	}
}

// granted writes the subset of what was wanted that will be sent.
func (i interest) granted() []byte {
	b := []byte{'{'}
	add := func(name, value string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(append(b, '"'), name...), `":`...), value...)
	}
	if i.tools {
		add("toolsListChanged", "true")
	}
	if i.prompts {
		add("promptsListChanged", "true")
	}
	if i.resources {
		add("resourcesListChanged", "true")
	}
	if uris := granted(i.uris); uris != "" {
		add("resourceSubscriptions", uris)
	}
	if tasks := granted(i.tasks); tasks != "" {
		add("taskIds", tasks)
	}
	return append(b, '}')
}

// granted is a list of those that are; "" where none is.
func granted(all map[string]bool) string {
	list := []byte{'['}
	for _, text := range slices.Sorted(maps.Keys(all)) {
		if all[text] {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = wire.AppendString(list, text)
		}
	}
	if len(list) == 1 {
		return ""
	}
	return string(append(list, ']'))
}

// notify sends the notes that the changes call for: each list at most once. meta
// is the _meta of every note, nil for none; tasks tells what changed of them.
func (x *exchange) notify(changes []catalog.Change, want interest, meta []byte, tasks *taskTeller) {
	var tools, prompts, resources bool
	params := []byte{'{'}
	if meta != nil {
		params = append(append(params, `"_meta":`...), meta...)
	}
	for _, ch := range changes {
		if !x.sees(ch) {
			continue
		}
		if id := ch.Task.ID; id != "" {
			if want.tasks[id] || want.session != "" && want.session == ch.Task.Session {
				tasks.tell(id, ch.Task.JSON)
			}
			continue
		}
		tools, prompts, resources = tools || ch.Tools, prompts || ch.Prompts, resources || ch.Resources
		if ch.URI == "" {
			continue
		}
		uri := ch.URI
		if x.view.Server == "" {
			uri = catalog.ExposedURI(ch.Server, uri)
		}
		if want.uris[uri] {
			p := slices.Clone(params)
			if meta != nil {
				p = append(p, ',')
			}
			p = append(wire.AppendString(append(p, `"uri":`...), uri), '}')
			x.out.send(wire.AppendNotification(nil, wire.NoteResourceUpdated, p))
		}
	}
	params = append(params, '}')
	if meta == nil {
		params = nil
	}
	if tools && want.tools {
		x.out.send(wire.AppendNotification(nil, wire.NoteToolsListChanged, params))
	}
	if prompts && want.prompts {
		x.out.send(wire.AppendNotification(nil, wire.NotePromptsListChanged, params))
	}
	if resources && want.resources {
		x.out.send(wire.AppendNotification(nil, wire.NoteResourcesListChanged, params))
	}
}

// sees says whether a change concerns what this client can see.
func (x *exchange) sees(ch catalog.Change) bool {
	return ch.Tenant == x.p.Tenant && x.g.o.Catalog.Snapshot().For(x.p.Tenant).Concerns(x.p, x.view, ch)
}
