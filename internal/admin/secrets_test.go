package admin

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/seal"
)

// secrets keeps them in memory, and never looks at one.
type secrets struct {
	mu     sync.Mutex
	values map[[3]string]seal.Secret
	fail   error
}

func (s *secrets) Keeps(_ context.Context, _ *junctor.Principal, owner string) error {
	if owner == "hers" {
		return junctor.Errorf(junctor.CodeNotFound, "there is no server %q", owner)
	}
	return nil
}

func (s *secrets) Put(_ context.Context, tenant junctor.TenantID, owner, name string, v seal.Secret) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.values[[3]string{string(tenant), owner, name}] = v
	}
	return s.fail
}

func (s *secrets) Info(_ context.Context, tenant junctor.TenantID, owner, name string) (seal.SecretInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.values[[3]string{string(tenant), owner, name}]; !ok {
		return seal.SecretInfo{}, junctor.Errorf(junctor.CodeNotFound, "%q has no secret %q", owner, name)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return seal.SecretInfo{Owner: owner, Name: name, CreatedAt: at, UpdatedAt: at}, nil
}

func (s *secrets) List(ctx context.Context, tenant junctor.TenantID) (list []seal.SecretInfo, err error) {
	s.mu.Lock()
	keys := s.values
	s.mu.Unlock()
	for k := range keys {
		info, err := s.Info(ctx, tenant, k[1], k[2])
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, s.fail
}

func (s *secrets) Delete(ctx context.Context, tenant junctor.TenantID, owner, name string) error {
	if _, err := s.Info(ctx, tenant, owner, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, [3]string{string(tenant), owner, name})
	return nil
}

func (s *secrets) Rotate(context.Context) (seal.RotationResult, error) {
	return seal.RotationResult{KeyID: "0011", Rewrapped: len(s.values), Removed: []string{"0022"}}, s.fail
}

const canary = "canary-51b0"

func TestSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld()
	h := w.handler(t)
	const info = `{"owner":"ocr","name":"credential","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z"}`
	for _, step := range []struct {
		scopes, method, path, body string
		status                     int
		want                       string
	}{
		{"servers:write", "GET", "/secrets", "", 200, `{"items":[],"total":0}`},
		{"servers:write", "PUT", "/secrets/ocr/credential", `{"value":"` + canary + `\n\u0000ü"}`, 200, info},
		{"servers:write", "GET", "/secrets", "", 200, `{"items":[` + info + `],"total":1}`},
		{"servers:write", "GET", "/secrets?owner=ocr", "", 200, `{"items":[` + info + `],"total":1}`},
		{"servers:write", "GET", "/secrets?owner=other", "", 200, `{"items":[],"total":0}`},
		{"servers:write", "GET", "/secrets/ocr/credential", "", 200, info},
		{"admin", "POST", "/secrets/rotate", "", 200, `{"key_id":"0011","rewrapped":1,"removed":["0022"]}`},
		{"servers:write", "POST", "/secrets/rotate", "", 403, ""},
		{"tools:call", "PUT", "/secrets/ocr/credential", `{"value":"x"}`, 403, ""},
		{"tools:read", "GET", "/secrets", "", 403, ""},
		{"servers:write", "GET", "/secrets/ocr/other", "", 404, ""},
		{"servers:write", "PUT", "/secrets/hers/credential", `{"value":"x"}`, 404, ""},
		{"servers:write", "GET", "/secrets/hers/credential", "", 404, ""},
		{"servers:write", "DELETE", "/secrets/hers/credential", "", 404, ""},
		{"servers:write", "DELETE", "/secrets/ocr/credential", "", 204, ""},
		{"servers:write", "DELETE", "/secrets/ocr/credential", "", 404, ""},
	} {
		rec := ask(h, step.scopes, step.method, step.path, step.body)
		if rec.Code != step.status || step.want != "" && strings.TrimSpace(rec.Body.String()) != step.want {
			t.Errorf("%s %s: %d %s", step.method, step.path, rec.Code, rec.Body)
		}
		if strings.Contains(rec.Body.String(), canary) {
			t.Errorf("%s %s answers the secret", step.method, step.path)
		}
		if step.method == "PUT" && step.status == 200 {
			if v := w.secrets.values[[3]string{"default", "ocr", "credential"}]; v.Reveal() != canary+"\n\x00ü" {
				t.Errorf("stored %q", v.Reveal())
			}
		}
	}
}

// Whatever is wrong with a request, nothing of its body is answered or logged.
func TestRefusedSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, body string
		status           int
	}{
		{"a list", "/secrets/o/n", `{"value":["` + canary + `"]}`, 422},
		{"an object", "/secrets/o/n", `{"value":{"a":"` + canary + `"}}`, 422},
		{"another member", "/secrets/o/n", `{"valeu":"` + canary + `"}`, 422},
		{"one more member", "/secrets/o/n", `{"value":"x","more":"` + canary + `"}`, 422},
		{"twice", "/secrets/o/n", `{"value":"` + canary + `","value":"` + canary + `"}`, 400},
		{"cut", "/secrets/o/n", `{"value":"` + canary, 400},
		{"bytes that are no text", "/secrets/o/n", `{"value":"` + canary + "\xff" + `"}`, 400},
		{"not JSON", "/secrets/o/n", canary, 400},
		{"a string alone", "/secrets/o/n", `"` + canary + `"`, 422},
		{"empty", "/secrets/o/n", `{"value":""}`, 422},
		{"a long name", "/secrets/o/" + strings.Repeat("n", 129), `{"value":"` + canary + `"}`, 422},
		{"too large", "/secrets/o/n", `{"value":"` + canary + strings.Repeat("x", maxSecretBody) + `"}`, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			w := newWorld()
			o := w.options()
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			h, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			rec := ask(h, "servers:write", "PUT", tt.path, tt.body)
			if readProblem(t, rec.Header(), rec.Body.Bytes()); rec.Code != tt.status || len(w.secrets.values) != 0 {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			if strings.Contains(rec.Body.String()+log.String(), canary) {
				t.Errorf("the secret shows: %s %s", rec.Body, &log)
			}
		})
	}
}

func TestFailedSecretIsNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.secrets.fail = junctor.Errorf(junctor.CodeUnavailable, "the database is locked")
	rec := ask(w.handler(t), "servers:write", "PUT", "/secrets/o/n", `{"value":"`+canary+`"}`)
	if rec.Code != 503 || strings.Contains(rec.Body.String(), canary) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	w.secrets.fail = junctor.Errorf(junctor.CodeConflict, "the key comes from the environment")
	if rec := ask(w.handler(t), "admin", "POST", "/secrets/rotate", ""); rec.Code != 409 || !strings.Contains(rec.Body.String(), "environment") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
