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

// probeTime is how long an instance on this machine may take to answer a probe.
const probeTime = 3 * time.Second

// newClient returns a client for the instance that the command line means: the
// one on the data directory of --data-dir; otherwise the one at JUNCTOR_URL,
// with JUNCTOR_KEY; otherwise the one on the default data directory.
func (c *cli) newClient(cmd *cobra.Command) (*adminClient, error) {
	_, named := c.configSources(cmd).Flags["data-dir"]
	if base := c.getenv("JUNCTOR_URL"); base != "" && !named {
		return c.newRemoteClient(base)
	}
	cfg, err := c.loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	return newLocalClient(cfg.DataDir), nil
}

// newRemoteClient returns a client for the instance at a URL.
func (c *cli) newRemoteClient(base string) (*adminClient, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, junctor.Errorf(junctor.CodeInvalid, "JUNCTOR_URL is not an http or https URL; set it to the URL of an instance, such as http://127.0.0.1:8717")
	}
	http, err := egress.Remote(u)
	if err != nil {
		return nil, err
	}
	return &adminClient{http: http, baseURL: strings.TrimRight(base, "/"), key: c.getenv("JUNCTOR_KEY"), name: base}, nil
}

// newLocalClient returns a client for the instance on a data directory, by its
// Unix socket. The permissions of the socket prove that the caller is the
// operator, so no key is needed.
func newLocalClient(dataDir string) *adminClient {
	return &adminClient{
		http: egress.Local(socketPath(dataDir)), baseURL: "http://localhost", name: "the instance on " + dataDir,
		hint: fmt.Sprintf("junctor is not running on %s: start it with `junctor up`, or name another instance with --data-dir or JUNCTOR_URL", dataDir),
	}
}

// requestAPI sends one request to the instance that the command line means. See
// adminClient.exchange.
func (c *cli) requestAPI(cmd *cobra.Command, method, path string, in, out any) error {
	client, err := c.newClient(cmd)
	if err != nil {
		return err
	}
	return client.exchange(cmd.Context(), method, path, in, out)
}

// probeInstance returns the listen address of the instance on a data directory.
// The error is CodeUnreachable if none runs there.
func (c *cli) probeInstance(ctx context.Context, dataDir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var settings listPage[admin.Setting]
	if err := newLocalClient(dataDir).get(ctx, "/settings", &settings); err != nil {
		return "", err
	}
	for _, s := range settings.Items {
		if s.Name == "listen" {
			return s.Value, nil
		}
	}
	return "", nil
}
