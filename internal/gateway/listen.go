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

// changeFilter selects the changes that a client receives.
type changeFilter struct {
	tools, prompts, resources bool
	uris                      map[string]bool // as the client wrote them; true if the subscription was granted
	tasks                     map[string]bool // ids of tasks, likewise; modern clients only
	session                   string          // session whose tasks are reported; legacy clients only
}

// listenHTTP serves subscriptions/listen on a POST until the client closes it or the
// gateway closes.
func (g *Gateway) listenHTTP(r *http.Request, x *exchange, rep *postResponse) {
	want, err := x.parseChangeFilter()
	if err != nil {
		f := toClientError(err, true, "")
		rep.writeFinal(f.status, wire.AppendError(nil, x.message.ID, f.rpcError))
		return
	}
	ctx, release := g.registerHTTPStream(r.Context(), rep.w, x.principal, x.message.ID)
	if release == nil {
		return
	}
	defer release()
	_ = http.NewResponseController(rep.w).SetWriteDeadline(time.Time{})
	x.serveSubscription(ctx, want, rep.writeComment)
}

// parseChangeFilter reads params.notifications. Nothing is granted yet.
func (x *exchange) parseChangeFilter() (changeFilter, error) {
	if x.message.InvalidMember != "" || x.message.Notifications == nil {
		return changeFilter{}, errMissingParam("notifications")
	}
	flag := func(name string) bool { return string(wire.Get(x.message.Notifications, name)) == "true" }
	want := changeFilter{
		tools: flag("toolsListChanged"), prompts: flag("promptsListChanged"), resources: flag("resourcesListChanged"),
	}
	var err error
	if want.uris, err = x.parseFilterList("resourceSubscriptions", "URIs"); err != nil {
		return changeFilter{}, err
	}
	if want.tasks, err = x.parseFilterList("taskIds", "ids of tasks"); err != nil {
		return changeFilter{}, err
	}
	if len(want.tasks) > 0 && !x.caller.Tasks {
		return changeFilter{}, errTasksNotDeclared("receive notifications of tasks")
	}
	return want, nil
}

// parseFilterList reads a list of strings in params.notifications into a map of false.
func (x *exchange) parseFilterList(name, what string) (map[string]bool, error) {
	all := map[string]bool{}
	for raw := range wire.Elements(wire.Get(x.message.Notifications, name)) {
		text, ok := wire.String(raw)
		if !ok {
			return nil, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.notifications." + name + " must be a list of " + what}
		}
		all[text] = false
	}
	return all, nil
}

// serveSubscription subscribes to the requested items, acknowledges those that were
// granted, and sends changes until ctx or the gateway ends. If the gateway ends, it tells
// the client and answers the request. keepAlive is called periodically; it may be nil.
func (x *exchange) serveSubscription(ctx context.Context, want changeFilter, keepAlive func()) {
	// Watch before subscribing: a change in between must not be missed.
	watch := x.gateway.options.Catalog.Watch()
	defer watch.Stop()
	// Each subscription passes the pipeline. One that is refused is left out of the
	// acknowledgement; the others continue.
	for uri := range want.uris {
		_, err := x.gateway.options.Pipeline.Do(ctx, x.newSubscriptionOp(uri, false), x)
		want.uris[uri] = err == nil
	}
	for id := range want.tasks {
		_, err := x.getTask(ctx, id, true)
		want.tasks[id] = err == nil
	}
	// Unsubscribe even if the client has disconnected; otherwise the server would
	// send updates forever.
	defer func() {
		for uri, granted := range want.uris {
			if granted {
				_, _ = x.gateway.options.Pipeline.Do(context.WithoutCancel(ctx), x.newSubscriptionOp(uri, true), x)
			}
		}
	}()
	meta := subscriptionMeta(x.message.ID)
	params := append([]byte(`{"notifications":`), want.grantedJSON()...)
	params = append(append(append(params, `,"_meta":`...), meta...), '}')
	x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationSubscriptionsAcknowledged, params))

	tasks := x.newTaskNotifier(ctx, meta)
	defer tasks.stop()
	tick := time.NewTicker(x.gateway.options.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if x.gateway.ctx.Err() != nil {
				x.sendShutdown(meta)
			}
			return
		case <-x.gateway.ctx.Done():
			x.sendShutdown(meta)
			return
		case <-watch.Ready():
			x.sendChanges(watch.Take(), want, meta, tasks)
		case <-tick.C:
			if keepAlive != nil {
				keepAlive()
			}
		}
	}
}

// sendShutdown ends a subscription from the server's side. It both cancels and answers
// the request, because the specification requires one in one place and the other in
// another.
func (x *exchange) sendShutdown(meta []byte) {
	cancelled := append(append([]byte(`{"requestId":`), x.message.ID...), `,"reason":"the server is stopping"}`...)
	x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationCancelled, cancelled))
	body := append(append([]byte(`{"_meta":`), meta...), '}')
	x.sender.sendMessage(x.appendResponse(nil, outcome{body: body}))
}

// newSubscriptionOp makes the operation that subscribes to a resource, or with end
// unsubscribes.
func (x *exchange) newSubscriptionOp(uri string, end bool) *guard.Op {
	return &guard.Op{
		Principal: x.principal, EntryPoint: x.entryPoint, Address: x.address, Scope: x.view, Kind: junctor.KindSubscription, Name: uri, Unsubscribe: end,
		Params: x.message.Params, Caller: x.caller,
	}
}

// grantedJSON returns the part of the filter that was granted, for the acknowledgement.
func (i changeFilter) grantedJSON() []byte {
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
	if uris := grantedList(i.uris); uris != "" {
		add("resourceSubscriptions", uris)
	}
	if tasks := grantedList(i.tasks); tasks != "" {
		add("taskIds", tasks)
	}
	return append(b, '}')
}

// grantedList returns the granted entries as a sorted JSON array, or "" if there are
// none.
func grantedList(all map[string]bool) string {
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

// sendChanges sends the notifications for changes, each list at most once. meta is the
// _meta of every notification, or nil. tasks sends those about tasks.
func (x *exchange) sendChanges(changes []catalog.Change, want changeFilter, meta []byte, tasks *taskNotifier) {
	var tools, prompts, resources bool
	params := []byte{'{'}
	if meta != nil {
		params = append(append(params, `"_meta":`...), meta...)
	}
	for _, ch := range changes {
		if !x.isConcernedBy(ch) {
			continue
		}
		// Tasks are sent in the background: their state may require a request.
		if id := ch.Task.ID; id != "" {
			if want.tasks[id] || want.session != "" && want.session == ch.Task.Session {
				tasks.queueState(id, ch.Task.JSON)
			}
			continue
		}
		tools, prompts, resources = tools || ch.Tools, prompts || ch.Prompts, resources || ch.Resources
		if ch.URI == "" {
			continue
		}
		// A client of all servers knows a resource by its exposed URI.
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
			x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationResourceUpdated, p))
		}
	}
	params = append(params, '}')
	if meta == nil {
		params = nil
	}
	if tools && want.tools {
		x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationToolsListChanged, params))
	}
	if prompts && want.prompts {
		x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationPromptsListChanged, params))
	}
	if resources && want.resources {
		x.sender.sendMessage(wire.AppendNotification(nil, wire.NotificationResourcesListChanged, params))
	}
}

// isConcernedBy reports whether a change concerns an item that this client may see.
func (x *exchange) isConcernedBy(ch catalog.Change) bool {
	return ch.Tenant == x.principal.Tenant && x.gateway.options.Catalog.Snapshot().For(x.principal.Tenant).Concerns(x.principal, x.view, ch)
}
