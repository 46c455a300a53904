package replicas

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/testkit/visitor"
	"github.com/junctor-mcp/junctor/test/program"
)

// A program whose person takes their consent back is out at every replica, and what
// it has open there ends: not when each looks the next time, which is in a minute.
func TestConsentIsTakenBackEverywhere(t *testing.T) {
	t.Parallel()
	all := program.StartCluster(t, program.ClusterOptions{NoRedis: true, Spec: func(c *program.Cluster, _ int, s *program.Spec) {
		s.Args = append(s.Args, "--public-url", c.URL)
	}})
	c := &cluster{T: t, front: all.Balancer, url: all.URL, replicas: all.Replicas(), db: all.DB, dead: map[int]bool{}}
	token := c.consented()
	streams := make([]<-chan error, len(c.replicas))
	for n, in := range c.replicas {
		status, session := c.greet(in, token)
		if status != http.StatusOK || session == "" {
			t.Fatalf("replica %d answers %d before", n, status)
		}
		streams[n] = c.ends(in, token, session)
	}
	var list struct{ Items []struct{ ID string } }
	c.read(http.MethodGet, "/api/v1/consents", "", &list)
	if len(list.Items) != 1 {
		t.Fatalf("%d consents", len(list.Items))
	}
	if status, text := c.do(http.MethodDelete, "/api/v1/consents/"+list.Items[0].ID, ""); status/100 != 2 {
		t.Fatalf("%d %s", status, text)
	}
	begun := time.Now()
	for n, in := range c.replicas {
		c.until("the token opens nothing", func() bool {
			status, _ := c.greet(in, token)
			return status == http.StatusUnauthorized
		})
		select {
		case <-streams[n]:
		case <-time.After(patience):
			t.Errorf("a stream of replica %d stays open", n)
		}
	}
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("it took %v: they were not told", took)
	}
}

// consented gives a token of a program that a person let act for them.
func (c *cluster) consented() string {
	c.Helper()
	var client struct {
		ID string `json:"client_id"`
	}
	c.read(http.MethodPost, "/oauth/register", `{"client_name":"A program","redirect_uris":["http://127.0.0.1/callback"]}`, &client)
	c.read(http.MethodPost, "/api/v1/users", `{"name":"ann","role":"developer"}`, nil)
	var link struct{ URL string }
	c.read(http.MethodPost, "/api/v1/users/ann/link", "", &link)
	person := visitor.New(c.T, c.url)
	person.SignIn(link.URL, link.URL)
	const verifier, back = "a-verifier-that-is-long-enough-for-the-protocol", "http://127.0.0.1:9/callback"
	sum := sha256.Sum256([]byte(verifier))
	to := person.Consent(c.url + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {back}, "resource": {c.url + "/mcp"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode())
	resp, err := http.PostForm(c.url+"/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client.ID}, "code": {to.Query().Get("code")}, "redirect_uri": {back}, "code_verifier": {verifier}, "resource": {c.url + "/mcp"},
	})
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	var given struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&given); err != nil || given.Token == "" {
		c.Fatalf("%d %v", resp.StatusCode, err)
	}
	return given.Token
}

// greet opens a session at a replica.
func (c *cluster) greet(in *program.Instance, token string) (status int, session string) {
	c.Helper()
	resp := c.direct(c.Context(), in, http.MethodPost, token, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "")
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Mcp-Session-Id")
}

// ends opens the stream of a session at a replica, and tells when it ends.
func (c *cluster) ends(in *program.Instance, token, session string) <-chan error {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	resp := c.direct(ctx, in, http.MethodGet, token, "", session)
	if resp.StatusCode != http.StatusOK {
		c.Fatalf("a stream: %d", resp.StatusCode)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		ended <- err
	}()
	c.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	return ended
}

// direct is a request to a replica itself.
func (c *cluster) direct(ctx context.Context, in *program.Instance, method, token, body, session string) *http.Response {
	c.Helper()
	req, err := http.NewRequestWithContext(ctx, method, in.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	return resp
}

// read reads an answer of the API, which must be a good one.
func (c *cluster) read(method, path, body string, to any) {
	c.Helper()
	status, text := c.do(method, path, body)
	if status/100 != 2 {
		c.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if to != nil {
		if err := json.Unmarshal([]byte(text), to); err != nil {
			c.Fatalf("%s %s: %v", method, path, err)
		}
	}
}
