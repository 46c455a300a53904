package ssrf

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// Models, agents elsewhere, and the addresses that others want to be told at.
func TestAgentsDoNotReachPrivateAddresses(t *testing.T) { //nolint:paralleltest // it has a network of its own
	if !isolate(t) {
		return
	}
	r := newRig(t)
	if a := r.in.Do(t, "POST", "/api/v1/agents", `{"name":"teller","published":true,"brain":{"rules":"fallback: 'Hello.'\n"}}`); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	// The traps see what is dialled: a public address is.
	before := r.traps.dials(public)
	r.model(junctor.ModelA2A, "public", "https://"+public+":"+r.traps.port+"/")
	if r.traps.dials(public) == before {
		t.Fatal("the traps see nothing")
	}
	r.traps.take()
	urls := slices.DeleteFunc(append(r.addresses(), r.misleading()...), func(url string) bool { return strings.HasPrefix(url, "data:") })
	// A name that nobody knows is asked for again, so many are tried at a time.
	var tries sync.WaitGroup
	room := make(chan struct{}, 32)
	for _, kind := range []junctor.ModelKind{junctor.ModelA2A, junctor.ModelOpenAI, junctor.ModelAnthropic} {
		for i, url := range urls {
			r.asked++
			room <- struct{}{}
			tries.Go(func() {
				r.model(kind, fmt.Sprintf("%s-%d", kind, i), url)
				<-room
			})
		}
	}
	tries.Wait()
	r.quiet("models")
	pushes := r.pushes(urls)
	r.quiet("pushes")
	t.Logf("figure: the same as models, remote agents and notification targets of tasks, and by redirects, %d times, %d of them pushes: 0 dials", r.asked, pushes)
}

// model adds a model and tries it, which must not work.
func (r *rig) model(kind junctor.ModelKind, name, url string) {
	r.t.Helper()
	ask := map[string]any{"name": name, "kind": kind, "base_url": url, "key": "a key of a model"}
	if kind != junctor.ModelA2A {
		ask["model"] = "m"
	}
	body, _ := json.Marshal(ask)
	a := r.in.Do(r.t, "POST", "/api/v1/models", string(body))
	if a.Status >= 500 {
		r.t.Errorf("%s: %d %s", body, a.Status, a.Body)
	}
	if a.Status != http.StatusCreated {
		return
	}
	if a := r.in.Do(r.t, "POST", "/api/v1/models/"+name+"/test", ""); !strings.Contains(a.Body, `"ok":false`) {
		r.t.Errorf("%s: %d %s", body, a.Status, a.Body)
	}
}

// pushes gives an agent tasks that addresses are to be told of, and waits until
// each was given up. It gives how many were taken.
func (r *rig) pushes(urls []string) int {
	r.t.Helper()
	var wait []string
	for i, url := range urls {
		r.asked++
		id := fmt.Sprintf("push-%d-", i)
		params := map[string]any{
			"message":       map[string]any{"kind": "message", "messageId": id, "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "hello"}}},
			"configuration": map[string]any{"blocking": true, "pushNotificationConfig": map[string]any{"id": id, "url": url}},
		}
		body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params})
		a := r.in.Do(r.t, "POST", "/a2a/teller", string(body), "Content-Type: application/json")
		switch {
		case strings.Contains(a.Body, `"completed"`):
			wait = append(wait, id)
		case !strings.Contains(a.Body, "url must be an http or https URL"):
			r.t.Errorf("%s: %d %s", url, a.Status, a.Body)
		}
	}
	if len(wait) == 0 {
		r.t.Error("no push was taken")
	}
	left := slices.Clone(wait)
	if !poll.Holds(2*time.Minute, func() bool {
		log := r.in.Log.String()
		left = slices.DeleteFunc(left, func(id string) bool { return strings.Contains(log, id) })
		return len(left) == 0
	}) {
		r.t.Fatalf("%d of %d pushes were not given up: %v", len(left), len(wait), left)
	}
	return len(wait)
}
