package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/admin"
	"github.com/junctor-mcp/junctor/internal/egress"
)

// probeTime is how long an instance on this machine may take to say that it is
// there.
const probeTime = 3 * time.Second

// client is the instance that this command line means: the one that --data-dir
// names, else JUNCTOR_URL with JUNCTOR_KEY, else the one on the usual data
// directory.
func (c *cli) client(cmd *cobra.Command) (*client, error) {
	_, named := c.sources(cmd).Flags["data-dir"]
	if base := c.getenv("JUNCTOR_URL"); base != "" && !named {
		return c.remoteClient(base)
	}
	cfg, err := c.load(cmd)
	if err != nil {
		return nil, err
	}
	return localClient(cfg.DataDir), nil
}

func (c *cli) remoteClient(base string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "JUNCTOR_URL is not the URL of an instance; write it as http://127.0.0.1:8717")
	}
	http, err := egress.Remote(u)
	if err != nil {
		return nil, err
	}
	return &client{http: http, base: strings.TrimRight(base, "/"), key: c.getenv("JUNCTOR_KEY"), name: base}, nil
}

func localClient(dataDir string) *client {
	return &client{
		http: egress.Local(socketOf(dataDir)), base: "http://localhost", name: "the instance on " + dataDir,
		hint: fmt.Sprintf("junctor is not running on %s: start it with `junctor up`, or name another instance with --data-dir or JUNCTOR_URL", dataDir),
	}
}

// ask sends one request to the instance that is meant.
func (c *cli) ask(cmd *cobra.Command, method, path string, in, out any) error {
	client, err := c.client(cmd)
	if err != nil {
		return err
	}
	return client.do(cmd.Context(), method, path, in, out)
}

// probe asks the instance on a data directory where it listens.
func (c *cli) probe(ctx context.Context, dataDir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var settings list[admin.Setting]
	if err := localClient(dataDir).get(ctx, "/settings", &settings); err != nil {
		return "", err
	}
	for _, s := range settings.Items {
		if s.Name == "listen" {
			return s.Value, nil
		}
	}
	return "", nil
}
