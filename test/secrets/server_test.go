package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/junctor-mcp/junctor/internal/builtin"
)

// login is what people send to tools that need to know who they are.
type login struct {
	User        string `json:"user"`
	Password    string `json:"password"`
	Token       string `json:"token"`
	Credentials string `json:"credentials_json"`
}

type session struct {
	Greeting string `json:"greeting"`
	APIKey   string `json:"api_key"`
}

// strictSchema has a rule for every member, so that wrong values break each
// kind of rule.
const strictSchema = `{
	"type": "object",
	"properties": {
		"password": {"type": "string", "maxLength": 8},
		"token": {"type": "string", "pattern": "^[0-9]+$"},
		"credentials_json": {"type": "object"},
		"mode": {"enum": ["slow", "fast"]},
		"fixed": {"const": "this"},
		"count": {"type": "integer", "minimum": 3},
		"list": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true},
		"when": {"type": "string", "format": "date-time"},
		"either": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]}
	},
	"additionalProperties": false
}`

// vault is a server of tools that are trusted with secrets. apiKey is what a
// login gives back.
func vault(t *testing.T, apiKey *atomic.Value, log io.Writer) *builtin.Server {
	t.Helper()
	s, err := builtin.New("vault", "Vault", builtin.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		builtin.AddTool(s, builtin.Tool{Name: "login", Description: "Logs in."}, func(_ context.Context, _ *builtin.Call, in login) (session, error) {
			return session{Greeting: "welcome, " + in.User, APIKey: apiKey.Load().(string)}, nil
		}),
		builtin.AddTool(s, builtin.Tool{Name: "fail", Description: "Fails, and says too much."}, func(_ context.Context, _ *builtin.Call, in login) (string, error) {
			return "", fmt.Errorf("the password %s is not the right one", in.Password)
		}),
		builtin.AddTool(s, builtin.Tool{Name: "crash", Description: "Panics, and says too much."}, func(_ context.Context, _ *builtin.Call, in login) (string, error) {
			panic("cannot compile " + in.Password)
		}),
		builtin.AddTool(s, builtin.Tool{Name: "hang", Description: "Never ends by itself."}, func(ctx context.Context, _ *builtin.Call, in login) (string, error) {
			<-ctx.Done()
			return "", fmt.Errorf("gave up on %s: %w", in.Password, ctx.Err())
		}),
		builtin.AddTool(s, builtin.Tool{Name: "strict", Description: "Wants everything right.", InputSchema: json.RawMessage(strictSchema)},
			func(context.Context, *builtin.Call, map[string]any) (string, error) { return "fine", nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
