package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/wire"
)

// tagged is a call whose id, progress token, argument and answer are one tag.
func tagged(tag string, modern bool) string {
	m := `"progressToken":"` + tag + `"`
	if modern {
		m = meta(m, `"`+wire.MetaLogLevel+`":"error"`)
	} else {
		m = `"_meta":{` + m + `}`
	}
	return request(`"`+tag+`"`, "tools/call", `"name":"probe__tag"`, `"arguments":{"tag":"`+tag+`"}`, m)
}

// foreign says what in the messages of one call belongs to another.
func foreign(tag string, all []answer) string {
	for n, a := range all {
		switch {
		case a.Method == wire.NotificationProgress && a.Params["progressToken"] == tag && a.Params["message"] == tag:
		case a.Method == wire.NotificationMessage && a.Params["data"] == tag:
		case a.Method == "" && n == len(all)-1 && string(a.ID) == `"`+tag+`"` && a.text() == tag:
		default:
			return fmt.Sprintf("%s got %+v", tag, a)
		}
	}
	if len(all) < 2 {
		return fmt.Sprintf("%s got %d messages", tag, len(all))
	}
	return ""
}

// Fifty clients of both eras on all endpoints at once: nobody gets what another
// asked for.
func TestNoCrossTalk(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	keys := []string{newKey(t, i, "tools:call"), newKey(t, i, "tools:call")}
	const clients, calls = 20, 40 // test/crosstalk has many more in its long form
	var wg sync.WaitGroup
	for n := range clients {
		key := keys[n%2]
		auth := "Authorization: Bearer " + key
		var run func(tag string) []answer
		switch n % 5 {
		case 0, 1:
			run = func(tag string) []answer { return messages(t, post(t, i, tagged(tag, true), auth)) }
		case 2, 3:
			s := open(t, i, "2025-11-25", "{}", key)
			run = func(tag string) []answer { return messages(t, s.post(t, tagged(tag, false))) }
		default:
			c := openStdio(t, i, key)
			c.handshake(t, "2025-11-25", "{}")
			run = func(tag string) []answer {
				c.send(t, tagged(tag, len(tag)%2 == 0))
				for all := []answer{}; ; {
					a := c.next(t)
					if all = append(all, a); a.Method == "" {
						return all
					}
				}
			}
		}
		wg.Go(func() {
			for k := range calls {
				tag := fmt.Sprintf("c%d-%d", n, k)
				if wrong := foreign(tag, run(tag)); wrong != "" {
					t.Error(wrong)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Many calls at once over one connection: each answer finds its question.
func TestConcurrentCallsOnOneConnection(t *testing.T) {
	t.Parallel()
	i, _ := start(t, nil)
	for name, c := range map[string]*talk{"stdio": openStdio(t, i, ""), "sse": openSSE(t, i, "")} {
		c.handshake(t, "2024-11-05", "{}")
		const calls = 60
		var sending sync.WaitGroup
		sending.Go(func() {
			for k := range calls {
				c.send(t, tagged(fmt.Sprintf("k%d", k), k%2 == 0))
			}
		})
		by, done := map[string][]answer{}, 0
		for done < calls {
			a := c.next(t)
			tag := strings.Trim(string(a.ID), `"`)
			switch a.Method {
			case wire.NotificationProgress:
				tag, _ = a.Params["progressToken"].(string)
			case wire.NotificationMessage:
				tag, _ = a.Params["data"].(string)
			default:
				done++
			}
			by[tag] = append(by[tag], a)
		}
		sending.Wait() // an answer may be here before its request was acknowledged
		for tag, all := range by {
			if wrong := foreign(tag, all); wrong != "" {
				t.Errorf("%s: %s", name, wrong)
			}
		}
	}
}

// Lists are rendered once and shared, but never with one who may not see them.
func TestScopesDoNotShareLists(t *testing.T) {
	t.Parallel()
	i := run(t, nil)
	reader, caller, stranger := newKey(t, i, "tools:read"), newKey(t, i, "tools:call"), newKey(t, i, "audit:read")
	list := request("1", "tools/list", meta())
	echo := request("1", "tools/call", `"name":"demo__echo"`, `"arguments":{"text":"x"}`, meta())
	unknown := request("1", "tools/call", `"name":"demo__nothing"`, `"arguments":{"text":"x"}`, meta())
	for range 3 {
		for _, c := range []struct {
			key, body string
			status    int
			want      string
		}{
			{reader, list, 200, `"cacheScope":"private"`},
			{stranger, list, 403, "tools:read"},
			{caller, list, 200, `"name":"demo__echo"`},
			{stranger, list, 403, "tools:read"},
			{reader, echo, 403, "tools:call"},
			{caller, echo, 200, `"text":"x"`},
			{stranger, echo, 400, "unknown tool"}, // what cannot be seen is not there
			{stranger, unknown, 400, "unknown tool"},
		} {
			r := post(t, i, c.body, "Authorization: Bearer "+c.key)
			if r.Status != c.status || !strings.Contains(r.Body, c.want) || c.key == stranger && strings.Contains(r.Body, "did you mean") {
				t.Errorf("want %d, %s: %d %s", c.status, c.want, r.Status, r.Body)
			}
		}
		auth := "Authorization: Bearer " + stranger
		for name, r := range map[string]testkit.Reply{
			"GET /mcp/tools": i.Do(t, http.MethodGet, "/mcp/tools", "", auth),
			"plain":          i.Do(t, http.MethodPost, "/mcp/request", request("1", "tools/list"), auth),
			"one server":     i.Do(t, http.MethodPost, "/mcp/s/demo", list, append(mirrored(t, list), auth)...),
			"legacy":         open(t, i, "2025-11-25", "{}", stranger).post(t, request("1", "tools/list")),
		} {
			if strings.Contains(r.Body, "echo") {
				t.Errorf("%s: %s", name, r.Body)
			}
		}
	}
}
