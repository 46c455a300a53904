package apps

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/catalog"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// A View runs in a browser, which the server cannot call. Notifications and requests for
// it wait here as mail, until the page that shows the View fetches them. One long-poll
// request fetches the mail of all Views of a session.
const (
	// maxMail bounds the mail that waits for one View. The oldest mail is dropped.
	maxMail = 64
	// maxMailWait is how long a request for mail may wait.
	maxMailWait = 30 * time.Second
	// unwatchedAfter is the time without a request for mail after which no browser shows
	// the View. Requests to it then fail at once instead of at their deadline.
	unwatchedAfter = 2 * maxMailWait
	maxAnswerBytes = 1 << 20 // of one answer of a View
)

// viewRequest is a request to a View that has no answer yet.
type viewRequest struct {
	view *view
	// answer has room for one answer, so that Answer never blocks.
	answer chan junctor.ViewAnswer
}

// FetchMail gives the mail with a number above after of all Views that p's session has open.
// If there is none, it waits for the first mail, up to wait or maxMailWait. It returns
// nil when the wait or ctx ends.
func (h *Host) FetchMail(ctx context.Context, p *junctor.Principal, after uint64, wait time.Duration) []junctor.ViewMail {
	timer := time.NewTimer(min(wait, maxMailWait))
	defer timer.Stop()
	for {
		mail, more := h.collectMail(p, after)
		if len(mail) > 0 {
			return mail
		}
		select {
		case <-more:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// collectMail gives the mail that exists, and a channel that is closed when there may be
// more. It marks the Views as shown by a browser.
func (h *Host) collectMail(p *junctor.Principal, after uint64) (mail []junctor.ViewMail, more <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.opts.Now()
	for _, v := range h.views {
		if !v.belongsTo(p) || !h.isAlive(v, now) {
			continue
		}
		v.mailFetched = now
		for _, m := range v.mail {
			if m.Seq > after {
				mail = append(mail, m)
			}
		}
	}
	slices.SortFunc(mail, func(a, b junctor.ViewMail) int { return int(a.Seq) - int(b.Seq) }) //nolint:gosec // they are numbers of messages
	return mail, h.mailAdded
}

// postMail adds a message to a View's mail and wakes the requests for mail. The lock is
// held.
func (h *Host) postMail(v *view, m junctor.ViewMail) {
	h.lastMailSeq++
	m.Seq, m.View = h.lastMailSeq, v.id
	v.mail = append(v.mail, m)
	if len(v.mail) > maxMail {
		v.mail = slices.Delete(v.mail, 0, len(v.mail)-maxMail)
	}
	close(h.mailAdded)
	h.mailAdded = make(chan struct{})
}

// askView sends a request to a View and waits for its answer until ctx ends. It fails at
// once if no browser shows the View.
func (h *Host) askView(ctx context.Context, v *view, method string, params []byte) (json.RawMessage, error) {
	id, a := rand.Text(), &viewRequest{view: v, answer: make(chan junctor.ViewAnswer, 1)}
	h.mu.Lock()
	if h.views[v.id] != v || h.opts.Now().Sub(v.mailFetched) > unwatchedAfter {
		h.mu.Unlock()
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the App of %s is not open; open it and try again", v.tool.name)
	}
	h.openRequests[id] = a
	h.postMail(v, junctor.ViewMail{Ask: id, Method: method, Params: params})
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.openRequests, id)
		v.mail = slices.DeleteFunc(v.mail, func(m junctor.ViewMail) bool { return m.Ask == id }) // a View must not run a call that its caller gave up
	}()
	select {
	case answer := <-a.answer:
		if answer.Error != nil {
			return nil, junctor.Errorf(junctor.CodeUpstream, "the App of %s answered: %s", v.tool.name, clipText(answer.Error.Message))
		}
		return answer.Result, nil
	case <-v.closed:
		return nil, junctor.Errorf(junctor.CodeUnavailable, "the App of %s was closed before it answered", v.tool.name)
	case <-ctx.Done():
		return nil, junctor.AsError(ctx.Err())
	}
}

// AnswerRequest hands the answer of a View to the request with the id ask. It checks the answer
// first, since it comes from a page of a server. The error has CodeNotFound if nobody
// waits for the answer any more.
func (h *Host) AnswerRequest(p *junctor.Principal, id, ask string, answer junctor.ViewAnswer) error {
	v, err := h.findView(p, id)
	if err != nil {
		return err
	}
	switch {
	case (answer.Error == nil) == (len(answer.Result) == 0):
		return junctor.Errorf(junctor.CodeInvalid, "an answer must have either a result or an error")
	case len(answer.Result) > maxAnswerBytes:
		return junctor.Errorf(junctor.CodeTooLarge, "an answer must not be larger than %d KiB", maxAnswerBytes>>10)
	case answer.Error == nil && (wire.CheckJSON(answer.Result) != nil || answer.Result[0] != '{'):
		return junctor.Errorf(junctor.CodeInvalid, "result must be an object without duplicate members")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.openRequests[ask]
	if a == nil || a.view != v {
		return junctor.Errorf(junctor.CodeNotFound, "no request waits for this answer any longer")
	}
	delete(h.openRequests, ask)
	a.answer <- answer
	return nil
}

// Run notifies Views of changes in the lists of their servers, until ctx ends.
func (h *Host) Run(ctx context.Context) {
	w := h.opts.Catalog.Watch()
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Ready():
			for _, change := range w.Take() {
				h.notifyViews(change)
			}
		}
	}
}

// notifyViews posts a list-changed notification to each View that can see the change.
func (h *Host) notifyViews(ch catalog.Change) {
	var notes []string
	for _, list := range []struct {
		changed bool
		note    string
	}{{ch.Tools, wire.NotificationToolsListChanged}, {ch.Resources, wire.NotificationResourcesListChanged}, {ch.Prompts, wire.NotificationPromptsListChanged}} {
		if list.changed {
			notes = append(notes, list.note)
		}
	}
	if len(notes) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	sh := h.opts.Catalog.Snapshot().For(ch.Tenant)
	for _, v := range h.views {
		if v.owner.Tenant != ch.Tenant {
			continue
		}
		acts, err := h.actingPrincipal(v.owner, v.agentName)
		if err != nil || !sh.Concerns(acts, catalog.Scope{Server: v.tool.item.Server.ID, Audience: catalog.AudienceApp}, ch) {
			continue
		}
		for _, note := range notes {
			h.postMail(v, junctor.ViewMail{Method: note})
		}
	}
}
