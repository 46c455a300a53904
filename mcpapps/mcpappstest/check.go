package mcpappstest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/junctor-mcp/junctor/mcpapps"
)

// CheckPage returns what a host or a browser would object to in a page.
func CheckPage(p mcpapps.Page) error {
	var errs []error
	if start := strings.TrimSpace(p.HTML); len(start) < 15 || !strings.EqualFold(start[:15], "<!doctype html>") {
		errs = append(errs, fmt.Errorf("%s does not begin with <!doctype html>: browsers draw it as pages were drawn in 1998", p.URI))
	}
	// The tag would load a file that does not exist beside the page.
	if strings.Contains(p.HTML, mcpapps.BridgeTag) {
		errs = append(errs, fmt.Errorf("%s still has %s: a page is one file, mcpapps.WithBridge puts the script in", p.URI, mcpapps.BridgeTag))
	}
	return errors.Join(append(errs, p.Meta.CSP.Validate())...)
}
