package app_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/internal/store/pgtest"
	"github.com/junctor-mcp/junctor/internal/testkit"
)

// A request that is sent on is the client's own where it arrives: its address, its
// Host and its Origin. Nobody else can say whose a request is.
func TestSentOnAsItCame(t *testing.T) {
	t.Parallel()
	pg, err := pgtest.Start(pgtest.Options{})
	pgtest.Need(t, err)
	t.Cleanup(pg.Stop)
	in := testkit.Start(t, testkit.Settings{"db": pg.Database(t), "trusted-proxy": "127.0.0.0/8"})
	type seen struct{ Address, Host, Origin, Mark, Body string }
	at, stop, err := in.App.Other(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(seen{r.RemoteAddr, r.Host, r.Header.Get("Origin"), r.Header.Get("Junctor-Replica"), string(body)})
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	last := httptest.NewServer(at)
	t.Cleanup(last.Close)
	first := httptest.NewServer(in.App.Sending(last.URL))
	t.Cleanup(first.Close)
	ask := func(to string, header ...string) (got seen) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to+"/x", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "junctor.example"
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatalf("%d: %v", resp.StatusCode, err)
		}
		return got
	}
	if got := ask(first.URL, "X-Forwarded-For", "203.0.113.9", "Origin", "https://junctor.example"); got != (seen{"203.0.113.9:0", "junctor.example", "https://junctor.example", "", "hello"}) {
		t.Errorf("sent on: %+v", got)
	}
	// What a mark says counts on channels alone.
	for _, mark := range []string{"not a mark", base64.RawURLEncoding.EncodeToString([]byte(`{"client":"203.0.113.9","host":"other.example"}`))} {
		if got := ask(last.URL, "Junctor-Replica", mark); !strings.HasPrefix(got.Address, "127.0.0.1:") || got.Host != "junctor.example" || got.Body != "hello" {
			t.Errorf("with a mark that no replica made: %+v", got)
		}
	}
}
