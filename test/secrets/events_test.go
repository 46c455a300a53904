package secrets

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
	"github.com/junctor-mcp/junctor/test/program"
)

// TestNoSecretOfEventsLeaves gives tokens to agents that repeat them in every way
// there is, secrets to sources, right and wrong, and passwords to a Redis that
// repeats what it is told.
func TestNoSecretOfEventsLeaves(t *testing.T) {
	t.Parallel()
	h := newHunt(t)
	data := t.TempDir()
	in := program.Launch(t, program.Spec{
		Addr: program.FreeAddr(t), DataDir: data, Args: []string{"--log-level", "debug", "--egress-allow", "127.0.0.0/8", "--call-timeout", "5s"},
		Env: []string{"HOOK_SECRET=" + h.plant("a source's secret in a variable")},
	})
	in.WaitReady(t)
	ids := h.agentTokens(in)
	h.hooks(in)
	h.redis(in)
	h.declaredSources(in)
	h.ended(in, ids)
	paths := []string{"/sources", "/sources/standard", "/sources/redis", "/agent-tokens", "/triggers", "/schedules", "/events", "/deliveries?limit=500", "/endpoints", "/export", "/export?format=json", "/secrets"}
	for _, id := range ids {
		paths = append(paths, "/deliveries/"+id)
	}
	for _, path := range paths {
		a, err := in.Request(t.Context(), http.MethodGet, "/api/v1"+path, "")
		if err != nil {
			t.Fatal(err)
		}
		h.text("GET /api/v1"+path, a.Body)
	}
	for _, args := range [][]string{{"source", "ls"}, {"source", "show", "standard"}, {"agent", "token", "ls"}, {"delivery", "ls"}, {"delivery", "endpoints"}, {"event", "ls"}, {"export"}, {"delivery", "show", ids[0]}} {
		stdout, stderr, _ := in.CLI(t, args...)
		h.text(strings.Join(args, " "), stdout+stderr)
	}
	h.everything(in, "events")
	h.backup(in, "", "events")
	h.tree(data)
	in.Kill()
	h.text("the output", in.Log())
	h.tree(data)
	h.done("tokens of agents and secrets of sources")
}

// agentTokens has events delivered to agents' own endpoints, each with a token of
// its own and a secret to sign with, and gives the deliveries.
func (h *hunt) agentTokens(in *program.Instance) (ids []string) {
	h.t.Helper()
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Extra", r.Header.Get("X-Agent-Token"))
		careless(w, r)
	}))
	h.t.Cleanup(peer.Close)
	for _, tool := range carelessTools() {
		h.operator(in, "POST", "/api/v1/triggers", fmt.Sprintf(`{"name":"on-%s","match":{"type":%[1]q},"action":{"agent":"event","tool":%[1]q,"sign":true,"attempts":1}}`, tool), http.StatusCreated)
		for n, header := range junctor.TokenHeaders() {
			agent := fmt.Sprint(tool, "-", n)
			what := fmt.Sprintf("token in %s, %s", header, tool)
			body := fmt.Sprintf(`{"url":%q,"header":%q,"token":%q,"sign":true}`, peer.URL, header, h.plant(what))
			var made struct {
				Secret string `json:"signing_secret"`
			}
			a, err := in.Request(h.t.Context(), http.MethodPut, "/api/v1/agent-tokens/"+agent, body)
			if err == nil {
				err = json.Unmarshal([]byte(a.Body), &made)
			}
			if err != nil || made.Secret == "" {
				h.t.Fatalf("%d %s %v", a.Status, a.Body, err)
			}
			h.text("PUT /api/v1/agent-tokens/"+agent, a.Body) // which shows the secret to sign with, this once
			h.set.Add("secret to sign with of "+agent, strings.TrimPrefix(made.Secret, "whsec_"))
			var taken junctor.Taken
			said := h.operator(in, "POST", "/api/v1/events", fmt.Sprintf(`{"type":%q,"agent":%q}`, tool, agent), http.StatusAccepted)
			if err := json.Unmarshal([]byte(said), &taken); err != nil || len(taken.Deliveries) != 1 {
				h.t.Fatalf("%s %v", said, err)
			}
			ids = append(ids, taken.Deliveries[0])
		}
	}
	for _, bad := range []string{
		`{"url":"https://me:` + url.QueryEscape(h.plant("password in an agent's address")) + `@127.0.0.1/","token":"x"}`,
		fmt.Sprintf(`{"url":%q,"header":"Cookie","token":%q}`, peer.URL, h.plant("token in another header")),
		fmt.Sprintf(`{"url":%q,"token":[%q]}`, peer.URL, h.plant("token that is a list")),
		fmt.Sprintf(`{"url":%q,"token":"%s\r\nX: y"}`, peer.URL, h.plant("token with a line break")),
	} {
		h.operator(in, "PUT", "/api/v1/agent-tokens/bad", bad, 0)
	}
	return ids
}

// ended waits until the deliveries are over, or held.
func (h *hunt) ended(in *program.Instance, ids []string) {
	h.t.Helper()
	for _, id := range ids {
		poll.Until(h.t, "the end of delivery "+id, 3*time.Minute, func() bool {
			var d struct {
				State string
				Tried []json.RawMessage
			}
			a, err := in.Request(h.t.Context(), http.MethodGet, "/api/v1/deliveries/"+id, "")
			if err == nil {
				err = json.Unmarshal([]byte(a.Body), &d)
			}
			if err != nil {
				h.t.Fatalf("the delivery %s: %v %s", id, err, a.Body)
			}
			return len(d.Tried) > 0 && (d.State == "done" || d.State == "dead" || d.State == "held")
		})
	}
}

// hooks has messages come in that are signed rightly, wrongly, and with the secret
// itself in the place of a signature.
func (h *hunt) hooks(in *program.Instance) {
	h.t.Helper()
	for _, style := range []string{"standard", "github", "stripe", "hmac"} {
		secret, next := h.plant("secret of "+style), h.plant("next secret of "+style)
		h.operator(in, "POST", "/api/v1/sources", fmt.Sprintf(`{"id":%q,"style":%[1]q,"secret":%q}`, style, secret), http.StatusCreated)
		h.operator(in, "PATCH", "/api/v1/sources/"+style, fmt.Sprintf(`{"secret":%q}`, next), http.StatusOK)
		body, now := `{"type":"x"}`, time.Now()
		for name, header := range map[string][]string{
			"signed":     {"Webhook-Id: 1", fmt.Sprintf("Webhook-Timestamp: %d", now.Unix()), "Webhook-Signature: " + junctor.SignWebhook(secret, "1", now, []byte(body))},
			"the secret": {"X-Hub-Signature-256: sha256=" + secret, "Stripe-Signature: t=1,v1=" + secret, "X-Signature-256: " + next, "Webhook-Signature: v1," + next, "Authorization: Bearer " + secret},
			"nothing":    nil,
		} {
			a, err := in.Request(h.t.Context(), http.MethodPost, "/hooks/"+style, body, header...)
			if err != nil {
				h.t.Fatal(err)
			}
			if name != "signed" && a.Status == http.StatusAccepted {
				h.t.Errorf("%s took a message with %s", style, name)
			}
			h.text("/hooks/"+style+" with "+name, a.Body)
		}
	}
	for _, bad := range []string{
		`{"id":"Bad","style":"hmac","secret":"` + h.plant("secret of a bad id") + `"}`,
		`{"id":"bad","style":"` + h.plant("a style that is none") + `","secret":"xxxxxxxxxxxxxxxx"}`,
		`{"id":"bad","style":"hmac","secret":["` + h.plant("a secret that is a list") + `"]}`,
		`{"id":"bad","style":"redis","secret":"http://:` + h.plant("password of what is no Redis") + `@127.0.0.1"}`,
		`{"id":"bad","style":"redis","secret":"redis://:` + h.plant("password of no address") + `@"}`,
		`{"id":"standard","style":"hmac","secret":"` + h.plant("secret of a taken id") + `"}`,
	} {
		h.operator(in, "POST", "/api/v1/sources", bad, 0)
	}
}

// redis has a list read from a Redis that is not there, and from one that refuses
// everything and repeats it.
func (h *hunt) redis(in *program.Instance) {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = l.Close() })
	heard := make(chan struct{}, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var said []string
				for s := bufio.NewScanner(c); s.Scan(); {
					said = append(said, s.Text())
					if strings.HasPrefix(s.Text(), "*") || strings.HasPrefix(s.Text(), "$") {
						continue
					}
					if _, err := fmt.Fprintf(c, "-NOPERM you said %s\r\n", strings.Join(said, " ")); err != nil {
						return
					}
					select {
					case heard <- struct{}{}:
					default:
					}
				}
			}()
		}
	}()
	for id, one := range map[string]struct{ style, addr string }{"redis": {"redis", l.Addr().String()}, "gone": {"redis-stream", "127.0.0.1:1"}} {
		address := url.URL{Scheme: "redis", User: url.UserPassword("me", h.plant("password of the Redis "+id)), Host: one.addr, Path: "/0"}
		h.operator(in, "POST", "/api/v1/sources", fmt.Sprintf(`{"id":%q,"style":%q,"secret":%q}`, id, one.style, address.String()), http.StatusCreated)
	}
	if !poll.Holds(3*time.Minute, func() bool { return len(heard) > 0 && strings.Count(in.Log(), "cannot read a source") >= 2 }) {
		h.t.Fatalf("nobody asked the Redis, or nobody said that it refuses:\n%s", in.Log())
	}
}

// declaredSources are those of files, right and wrong.
func (h *hunt) declaredSources(in *program.Instance) {
	h.t.Helper()
	file := func(text string, status int) {
		body, err := json.Marshal(map[string]string{"file": text})
		if err != nil {
			h.t.Fatal(err)
		}
		h.operator(in, "POST", "/api/v1/apply", string(body), status)
	}
	for range 2 {
		file("sources:\n  filed: {style: hmac, secret: "+h.plant("secret in a file")+"}\n  read: {style: hmac, secret: 'env:HOOK_SECRET'}\n", http.StatusOK)
	}
	file("sources: {bad: {style: hmac, secret: ["+h.plant("list in a file")+"]}}", 0)
	file("sources: {bad: {style: "+h.plant("style in a file")+"}}", 0)
	file("sources: {bad: {style: redis, secret: 'http://:"+h.plant("address in a file")+"@x'}}", 0)
}
