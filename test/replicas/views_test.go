package replicas

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/junctor-mcp/junctor/test/program"
)

// stage is a cluster with a balancer before the listeners that show the pages of
// Views too.
type stage struct {
	*cluster
	addr string // of that
}

// nextPort is the address beside another: where pages of Views are shown.
func nextPort(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}

// page asks for a page of a View as a browser does, at the name of its address.
func (s *stage) page(address, method, body string) (status int, text string, h http.Header) {
	s.Helper()
	u, err := url.Parse(address)
	if err != nil {
		s.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.Context(), method, "http://"+s.addr+u.Path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Host = u.Host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(out), resp.Header
}

// TestViewsAnywhere opens a View at one replica and looks at it, has it ask, and
// asks it at the others.
func TestViewsAnywhere(t *testing.T) {
	t.Parallel()
	pages := program.NewBalancer(t)
	s := &stage{addr: strings.TrimPrefix(pages.URL, "http://")}
	_, port, _ := strings.Cut(s.addr, ":")
	s.cluster = startCluster(t, "--sandbox-url", "http://*.views.localhost:"+port)
	for _, in := range s.replicas {
		pages.Send("http://" + nextPort(strings.TrimPrefix(in.URL, "http://")))
	}
	s.add("asking", asking(t))

	var view struct{ ID, Proxy, Page, Origin string }
	open := func() {
		t.Helper()
		status, body := s.do("POST", "/api/v1/views", `{"server":"asking","tool":"touch"}`, "Origin: "+s.url)
		if err := json.Unmarshal([]byte(body), &view); status != http.StatusCreated || err != nil {
			t.Fatalf("%d %s", status, body)
		}
	}
	open()
	for n := range 6 {
		status, text, h := s.page(view.Page, "GET", "")
		if status != http.StatusOK || !strings.Contains(text, "<script") || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Fatalf("page %d: %d %v %.200s", n, status, h, text)
		}
		if len(h.Values("Content-Security-Policy")) != 1 || len(h.Values("Cache-Control")) != 1 {
			t.Errorf("a header stands there twice: %v", h)
		}
		status, text, h = s.page(view.Proxy, "GET", "")
		if status != http.StatusOK || !strings.Contains(text, view.Page) || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors "+s.url) {
			t.Fatalf("proxy %d: %d %v %.200s", n, status, h, text)
		}
		status, body := s.do("POST", "/api/v1/views/"+view.ID+"/rpc", `{"method":"tools/call","params":{"name":"touch","arguments":{}}}`, "Origin: "+s.url)
		if status != http.StatusOK || !strings.Contains(body, "touched") {
			t.Fatalf("call %d: %d %s", n, status, body)
		}
	}
	for n := range 3 { // what browsers report of it
		report := fmt.Sprintf(`{"csp-report":{"effective-directive":"img-src","blocked-uri":"https://evil.example/%d"}}`, n)
		if status, text, _ := s.page(strings.TrimSuffix(view.Page, "/")+"/r/"+view.ID, "POST", report); status != http.StatusNoContent {
			t.Fatalf("report %d: %d %s", n, status, text)
		}
	}
	for n := range 3 {
		status, body := s.do("GET", "/api/v1/views", "")
		if status != http.StatusOK || strings.Count(body, `"id":"`+view.ID+`"`) != 1 {
			t.Errorf("list %d: %d %s", n, status, body)
		}
		status, body = s.do("GET", "/api/v1/views/"+view.ID+"/log", "")
		if status != http.StatusOK || strings.Count(body, "https://evil.example/") != 3 {
			t.Errorf("log %d: %d %s", n, status, body)
		}
	}
	s.askTheView(view.ID)

	// Nobody comes to the pages of Views by the way that replicas have.
	if status, body := s.do("GET", "/replica/view/a/"+view.ID, ""); status == http.StatusOK && strings.Contains(body, "default-src") {
		t.Errorf("a page is shown at the console's own origin: %s", body)
	}

	if status, body := s.do("DELETE", "/api/v1/views/"+view.ID, ""); status != http.StatusNoContent {
		t.Fatalf("close: %d %s", status, body)
	}
	for range 3 {
		if status, _, _ := s.page(view.Page, "GET", ""); status != http.StatusNotFound {
			t.Errorf("the page of a View that was closed: %d", status)
		}
	}

	// Where the replica that holds it is gone, so is the View, and another is opened.
	open()
	s.kill(s.holder(view.ID))
	s.until("another View is opened", func() bool {
		status, _ := s.do("POST", "/api/v1/views", `{"server":"asking","tool":"touch"}`, "Origin: "+s.url)
		return status == http.StatusCreated
	})
	for range 2 {
		s.until("the View is gone", func() bool {
			status, _ := s.do("GET", "/api/v1/views/"+view.ID, "")
			return status == http.StatusNotFound
		})
	}
}

// holder is the replica that a View is of: its id begins with the name of one.
func (c *cluster) holder(view string) int {
	c.Helper()
	var at string
	if err := c.query(`SELECT url FROM replicas WHERE $1 LIKE id || '%'`, view).Scan(&at); err != nil {
		c.Fatalf("no replica holds %s: %v", view, err)
	}
	return c.replica(at)
}

// query asks the database for one row.
func (c *cluster) query(text string, args ...any) *sql.Row {
	c.Helper()
	db, err := sql.Open("pgx", c.db)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = db.Close() })
	return db.QueryRowContext(c.Context(), text, args...)
}

// replica is the number of one, by its address.
func (c *cluster) replica(at string) int {
	c.Helper()
	for n, in := range c.replicas {
		if in.URL == at {
			return n
		}
	}
	c.Fatalf("%s is no replica", at)
	return -1
}

// askTheView is what a page does that shows a View with tools of its own: it fetches
// what the View is asked, and brings the answer. Each goes to another replica.
func (s *stage) askTheView(id string) {
	s.Helper()
	type mail struct {
		Items []struct {
			Seq         uint64
			Ask, Method string
		}
	}
	fetch := func(after uint64, wait int) (got mail) {
		status, body := s.do("GET", fmt.Sprintf("/api/v1/views/mail?after=%d&wait=%d", after, wait), "")
		if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil {
			s.Fatalf("mail: %d %s", status, body)
		}
		return got
	}
	fetch(0, 0) // somebody looks at it
	listed := make(chan string, 1)
	go func() {
		_, body := s.do("GET", "/api/v1/views/"+id+"/tools", "")
		listed <- body
	}()
	var after uint64
	for {
		select {
		case body := <-listed:
			if !strings.Contains(body, `"paint"`) {
				s.Fatalf("the View's own tools: %s", body)
			}
			return
		default:
		}
		for _, m := range fetch(after, 1).Items {
			after = m.Seq
			if m.Method != "tools/list" {
				continue
			}
			status, body := s.do("POST", "/api/v1/views/"+id+"/answers/"+m.Ask, `{"result":{"tools":[{"name":"paint","inputSchema":{"type":"object"}}]}}`)
			if status != http.StatusNoContent {
				s.Fatalf("answer: %d %s", status, body)
			}
		}
	}
}
