package admin

import (
	"context"
	"strings"
	"testing"

	junctor "github.com/junctor-mcp/junctor"
)

func (w *world) MyCredentials(_ context.Context, p *junctor.Principal) ([]MyCredential, error) {
	one, err := w.MyCredential(context.Background(), p, "demo")
	return []MyCredential{one}, err
}

func (w *world) MyCredential(_ context.Context, p *junctor.Principal, server string) (MyCredential, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, ok := w.mine[p.User+"/"+server]
	one.Server, one.Wanted, one.Entered = server, true, ok
	return one, nil
}

func (w *world) PutMyCredential(ctx context.Context, p *junctor.Principal, server string, auth *junctor.Auth, headers map[string]string) (MyCredential, error) {
	w.mu.Lock()
	w.entered = auth
	masked := *auth
	masked.Secret = junctor.Masked
	w.mine[p.User+"/"+server] = MyCredential{Auth: &masked, Headers: headers}
	w.mu.Unlock()
	return w.MyCredential(ctx, p, server)
}

func (w *world) RemoveMyCredential(_ context.Context, p *junctor.Principal, server string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mine, p.User+"/"+server)
	return nil
}

func TestMyCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	const path, body = "/servers/demo/credentials/me", `{"auth":{"type":"basic","username":"u","password":"hunter2"}}`
	if rec := ask(h, "tools:call", "PUT", path, body); rec.Code != 403 { // a service is nobody
		t.Errorf("a service: %d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "user=u1,tools:read", "PUT", path, body); rec.Code != 403 {
		t.Errorf("without the scope: %d %s", rec.Code, rec.Body)
	}
	rec := ask(h, "user=u1,tools:call", "PUT", path, body)
	if rec.Code != 200 || strings.Contains(rec.Body.String(), "hunter2") || w.entered.Secret != "hunter2" || w.entered.Username != "u" {
		t.Errorf("%d %s %+v", rec.Code, rec.Body, w.entered)
	}
	if rec := ask(h, "user=u2,tools:call", "GET", path, ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"entered":false`) {
		t.Errorf("another: %d %s", rec.Code, rec.Body)
	}
	if rec := ask(h, "user=u1,tools:call", "GET", "/me/credentials", ""); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"entered":true`) {
		t.Errorf("listed: %d %s", rec.Code, rec.Body)
	}
	for _, bad := range []string{`{"auth":{"type":"basic","username":"u","password":"a","token":"b"}}`, `{"auth":{}}`, `{"secret":"x"}`} {
		if rec := ask(h, "user=u1,tools:call", "PUT", path, bad); rec.Code != 422 {
			t.Errorf("%s: %d", bad, rec.Code)
		}
	}
	if rec := ask(h, "user=u1,tools:call", "DELETE", path, ""); rec.Code != 204 {
		t.Errorf("delete: %d", rec.Code)
	}
}
