package app_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/junctor-mcp/junctor/internal/testkit"
	"github.com/junctor-mcp/junctor/internal/testkit/poll"
)

// span is one that came to a collector.
type span struct {
	service, trace, id, parent, name string
	begun, ended                     uint64
	kind, status                     uint64
	attributes                       map[string]string
}

// collector reads what it is sent, as OTLP has it.
type collector struct {
	t   *testing.T
	mu  sync.Mutex
	got []span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s with %s: %v", r.URL.Path, r.Header.Get("Content-Type"), err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range fields(c.t, body)[1] {
		service := ""
		for _, r := range fields(c.t, resource)[1] {
			service = texts(c.t, fields(c.t, r)[1])["service.name"]
		}
		for _, scope := range fields(c.t, resource)[2] {
			for _, text := range fields(c.t, scope)[2] {
				f := fields(c.t, text)
				s := span{
					service: service, trace: hex.EncodeToString(last(f[1])), id: hex.EncodeToString(last(f[2])), parent: hex.EncodeToString(last(f[4])), name: string(last(f[5])),
					kind: number(last(f[6])), begun: number(last(f[7])), ended: number(last(f[8])), attributes: texts(c.t, f[9]),
				}
				for _, status := range f[15] {
					s.status = number(last(fields(c.t, status)[3]))
				}
				c.got = append(c.got, s)
			}
		}
	}
}

// span waits for one by its id.
func (c *collector) span(id string) (found span) {
	c.t.Helper()
	poll.Until(c.t, "span "+id+" at the collector", time.Minute, func() bool { // they come in batches
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(c.got, func(s span) bool { return s.id == id })
		if i >= 0 {
			found = c.got[i]
		}
		return i >= 0
	})
	return found
}

// fields splits a message. Numbers are there as eight bytes.
func fields(t *testing.T, b []byte) map[protowire.Number][][]byte {
	t.Helper()
	all := map[protowire.Number][][]byte{}
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Error(protowire.ParseError(size))
			return all
		}
		b = b[size:]
		var value []byte
		switch kind {
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			var x uint64
			x, size = protowire.ConsumeVarint(b)
			value = protowire.AppendFixed64(nil, x)
		default:
			if size = protowire.ConsumeFieldValue(n, kind, b); size > 0 {
				value = b[:size]
			}
		}
		if size < 0 {
			t.Error(protowire.ParseError(size))
			return all
		}
		all[n] = append(all[n], value)
		b = b[size:]
	}
	return all
}

func last(values [][]byte) []byte {
	if len(values) == 0 {
		return nil
	}
	return values[len(values)-1]
}

func number(b []byte) uint64 {
	x, size := protowire.ConsumeFixed64(b)
	if size < 0 {
		return 0
	}
	return x
}

// texts reads attributes that are texts.
func texts(t *testing.T, messages [][]byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, m := range messages {
		f := fields(t, m)
		all[string(last(f[1]))] = string(last(fields(t, last(f[2]))[1]))
	}
	return all
}

// TestTracesOfAPIs follows a trace from a client through servers that are made of an
// API's documentation: the call's span is a child of the client's, and the API is
// told that it works for that span.
func TestTracesOfAPIs(t *testing.T) {
	t.Parallel()
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	told := make(chan http.Header, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told <- r.Header.Clone()
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/cats":
			_, _ = io.WriteString(w, `{"cats":"three"}`)
		case "/graphql":
			_, _ = io.WriteString(w, `{"data":{"dogs":"three"}}`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(api.Close)
	c := &collector{t: t}
	at := httptest.NewServer(c)
	t.Cleanup(at.Close)

	for _, traces := range []bool{true, false} {
		settings := testkit.Settings{"egress-allow": "127.0.0.0/8"}
		if traces {
			settings["otel-endpoint"] = at.URL
		}
		i := testkit.Start(t, settings)
		for _, server := range []string{
			fmt.Sprintf(`{"id":"rest","mode":"auto-generated","document":%q,"base_url":%q}`,
				`{"openapi":"3.0.3","info":{"title":"Pets","version":"1"},"paths":{"/cats":{"get":{"operationId":"cats","responses":{"200":{"description":"ok"}}}},"/broken":{"get":{"operationId":"broken","responses":{"200":{"description":"ok"}}}}}}`, api.URL),
			fmt.Sprintf(`{"id":"graph","mode":"auto-generated","document":%q,"base_url":%q}`, "type Query {\n  dogs: String\n}\n", api.URL+"/graphql"),
		} {
			if r := i.Do(t, http.MethodPost, "/api/v1/servers", server, "Content-Type: application/json"); r.Status != http.StatusCreated {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
		}
		for tool, want := range map[string]string{"rest__cats": "three", "graph__dogs": "three", "rest__broken": "500"} {
			r := i.Do(t, http.MethodPost, "/mcp/request", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"traceparent":"00-%s-%s-01","tracestate":"v=1"}}}`, tool, trace, parent),
				"Content-Type: application/json")
			if !strings.Contains(r.Body, want) {
				t.Fatalf("%s: %d %s", tool, r.Status, r.Body)
			}
			header := <-told
			for len(told) > 0 {
				<-told
			}
			parts := strings.Split(header.Get("Traceparent"), "-")
			if len(parts) != 4 || parts[1] != trace || parts[3] != "01" || header.Get("Tracestate") != "v=1" {
				t.Fatalf("%s: the API was told %v", tool, header)
			}
			if !traces {
				if parts[2] != parent {
					t.Errorf("%s: nobody looks, and the API was told of the span %s", tool, parts[2])
				}
				continue
			}
			s := c.span(parts[2])
			if s.trace != trace || s.parent != parent || s.service != "junctor" || s.name != "junctor tool" || s.kind != 2 || s.ended < s.begun || s.begun == 0 {
				t.Errorf("%s: %+v", tool, s)
			}
			if s.attributes["mcp.name"] != tool || s.attributes["junctor.entry_point"] == "" || s.status == 2 {
				t.Errorf("%s: %+v", tool, s)
			}
		}
		i.Stop()
	}
}
