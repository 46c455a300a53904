package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junctor-mcp/junctor/internal/admin"
)

func TestExamine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*instanceChecks)
		check  string
		want   checkState
		says   string
	}{
		{"all well", func(*instanceChecks) {}, "", stateOK, ""},
		{"data directory is a file", func(p *instanceChecks) { p.dataDir = file }, "directory", stateFail, "not a directory"},
		{"clock behind the data", func(p *instanceChecks) { p.now = p.now.Add(-time.Hour) }, "clock", stateFail, "set the clock"},
		{"clock never set", func(p *instanceChecks) { p.dataDir += "/none"; p.now = time.Unix(0, 0) }, "clock", stateFail, "set the clock"},
		{"other machines", func(p *instanceChecks) { p.listen = "0.0.0.0:0" }, "address", stateWarn, "--tls-cert"},
		{"every interface", func(p *instanceChecks) { p.listen = ":0" }, "address", stateWarn, "--tls-cert"},
		{"TLS before other machines", func(p *instanceChecks) {
			p.listen = ":0"
			p.loadExposure = func(context.Context, bool) (*exposure, error) {
				return &exposure{settings: map[string]string{"trusted-proxy": "10.0.0.1/32"}}, nil
			}
		}, "address", stateOK, "with TLS"},
		{"an instance that does not say how it is set", func(p *instanceChecks) {
			p.loadExposure = func(context.Context, bool) (*exposure, error) { return nil, errors.New("not of this API") }
		}, "safety", stateFail, "not of this API"},
		{"no address", func(p *instanceChecks) { p.listen = "nowhere" }, "address", stateFail, "host:port"},
		{"port nobody has", func(p *instanceChecks) { p.listen = "127.0.0.1:99999" }, "port", stateFail, "--listen"},
		{"instance hangs", func(p *instanceChecks) {
			p.askAddress = func(context.Context) (string, error) { return "", errors.New("it hangs") }
		}, "instance", stateFail, "does not answer"},
		{"instance on another port", func(p *instanceChecks) {
			p.askAddress = func(context.Context) (string, error) { return "127.0.0.1:1", nil }
			p.askSettingsFile = func(context.Context) (admin.FileState, error) { return admin.FileState{}, nil }
		}, "port", stateFail, "127.0.0.1:1"},
		{"journal put back", func(p *instanceChecks) {
			p.openDatabase = func(context.Context) ([]string, error) { return []string{"records 4 to 9 were lost or removed"}, nil }
		}, "journal", stateWarn, "records 4 to 9"},
		{"database broken", func(p *instanceChecks) {
			p.openDatabase = func(context.Context) ([]string, error) { return nil, errors.New("malformed") }
		}, "database", stateFail, "backup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &instanceChecks{
				dataDir: privateDir(t), listen: "127.0.0.1:0", now: time.Now(),
				askAddress:   func(context.Context) (string, error) { return "", nil },
				openDatabase: func(context.Context) ([]string, error) { return nil, nil },
				loadExposure: func(context.Context, bool) (*exposure, error) { return &exposure{now: time.Now()}, nil },
			}
			tt.change(p)
			found, _ := p.runChecks(t.Context())
			for _, f := range found {
				if f.Check == tt.check {
					if f.State != tt.want || !strings.Contains(f.Detail+" "+f.Fix, tt.says) {
						t.Errorf("%+v, want %s with %q", f, tt.want, tt.says)
					}
				} else if tt.check == "" && f.State != stateOK {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// privateDir is a folder for this user alone, as the first start makes it.
func privateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
