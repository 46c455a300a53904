package junctor

import (
	"encoding/json"
	"regexp"
	"time"
)

// ComponentCatalog is a stored catalog of A2UI components that a user
// registered. Package a2ui reads its document.
type ComponentCatalog struct {
	Tenant    TenantID
	Name      string // its id, and the name of the served file
	Document  json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ComponentCatalogNamePattern matches the names of component catalogs.
const ComponentCatalogNamePattern = `^[a-z][a-z0-9-]{0,63}$`

// CheckComponentCatalogName returns an error that explains the allowed form if
// name is not valid.
func CheckComponentCatalogName(name string) error {
	if ok, _ := regexp.MatchString(ComponentCatalogNamePattern, name); !ok {
		return Errorf(CodeInvalid, "%q is not a valid name of a component catalog; use a lower-case letter, then up to 63 lower-case letters, digits or hyphens", name)
	}
	return nil
}
