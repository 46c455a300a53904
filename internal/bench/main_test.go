package bench

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the processes that Run starts: the children,
// and a program that looks like Junctor from outside.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "play-") {
		goleak.VerifyTestMain(m)
		return
	}
	if err := play(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(role string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch role {
	case "play-child":
		if len(args) == 1 && args[0] == Twin {
			return playJunctor(ctx)
		}
		return Child(ctx, args)
	case "play-up":
		return playJunctor(ctx)
	case "play-down":
		return fmt.Errorf("no database; the key is %s", os.Getenv("JUNCTOR_ADMIN_KEY"))
	}
	return fmt.Errorf("there is no role %s", role)
}

// playJunctor serves the echo behind a key, where and as Run asks for it.
func playJunctor(ctx context.Context) error {
	if err := os.MkdirAll(os.Getenv("JUNCTOR_DATA_DIR"), 0o700); err != nil {
		return err
	}
	l, err := net.Listen("tcp", os.Getenv("JUNCTOR_LISTEN"))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	key := "Bearer " + os.Getenv("JUNCTOR_ADMIN_KEY")
	door := &echo{list: []byte(`{"tools":[{"name":"demo__echo","inputSchema":{"type":"object","required":["words"]}}]}`)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(key)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		door.ServeHTTP(w, r)
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
