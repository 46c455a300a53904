package junctor

import (
	"encoding/json"
	"regexp"
	"time"
)

// ComponentCatalog is a catalogue of interface components that somebody registered, as
// it is stored. What its document says is read by internal/a2ui.
type ComponentCatalog struct {
	Tenant    TenantID
	Name      string // its id here, and the name of the file that is served
	Document  json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ComponentCatalogNamePattern is what the name of a component catalogue looks like.
const ComponentCatalogNamePattern = `^[a-z][a-z0-9-]{0,63}$`

// CheckComponentCatalogName refuses a name that is none, and says what to write instead.
func CheckComponentCatalogName(name string) error {
	if ok, _ := regexp.MatchString(ComponentCatalogNamePattern, name); !ok {
		return Errorf(CodeInvalid, "%q is not the name of a component catalogue: use a lower-case letter, then up to 63 lower-case letters, digits or hyphens", name)
	}
	return nil
}
