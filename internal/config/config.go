// Package config turns flags, environment and file into one Config. It is
// ground and comes first: cli gathers the sources, Load reads and checks them,
// and app builds an instance from the result. Other packages get the values
// they need from app, never the Config itself.
package config

import (
	"crypto/sha256"
	"net/netip"
	"net/url"
	"slices"
	"time"

	junctor "github.com/junctor-mcp/junctor"
)

// Config is every setting of an instance, checked. The table in settings.go
// says what each is for. A Config is never changed after Load.
type Config struct {
	Listen         string
	PublicURL      *url.URL // nil: the listen address is the public one
	PeerURL        *url.URL // nil: where it listens
	SandboxListen  string   // "": beside Listen
	SandboxURL     *url.URL // nil: where SandboxListen is; a host that begins with *. is every name below it
	ConsoleDev     *url.URL // nil: the console is what the binary holds
	MapTiles       string   // an address with {z}, {x} and {y}, and after a space whom the map is of; "": outlines
	DataDir        string
	DB             *url.URL // nil: SQLite in the data directory
	SealKeyFile    string   // "": seal.key in the data directory
	Journal        string   // fast or strict
	AuditDays      int      // 0: for good
	HistoryDays    int      // 0: nothing is kept
	HistorySize    int64
	OCRRoots       []string
	OCRVisionURL   string
	Open           bool
	TLSCert        string
	TLSKey         string
	TrustedProxy   []netip.Prefix
	AllowedHosts   []string // lower case, host or host:port
	AllowedOrigins []string // lower case, scheme://host[:port]
	DoorsOff       []string
	MaxBody        int64
	MaxResult      int64   // of a server
	MaxInFlight    int64   // bytes of requests and results; 0: by the memory there is
	MaxPerCaller   int64   // bytes of them that one caller has; 0: by MaxInFlight
	RateLimit      float64 // per second; 0 is no limit
	RateBurst      int
	CallTimeout    time.Duration
	Redis          *url.URL      // nil: limits are not shared
	Drain          time.Duration // after being told to end, while /readyz says no; 0 is none
	NameLimit      int
	Exposure       string // auto, all or search
	AllowCommands  bool
	ReservedIDDays int // the id of a removed server is kept for its owner and admins; 0: not at all
	EgressAllow    []netip.Prefix
	EgressProxy    *url.URL // nil: none
	HTTPFastPath   bool     // false: net/http alone reads and sends plain HTTP
	LogLevel       string
	LogFormat      string
	OTelEndpoint   string // "" is no tracing
	Pprof          bool
	OIDC           OIDC
	OAuth          OAuth
	Chains         []junctor.Chain
	IPFSGateways   []string
	AgentDomains   string // off, show or require

	secrets  *secrets // behind a pointer: printing a Config shows none of it
	sources  map[string]string
	warned   []string
	declared Declared
	file     string // "" where none was named
	sum      [sha256.Size]byte
	blank    bool
	from     Sources
}

// secrets come from the environment only, so that they stand in no file that
// is shared and in no list of processes.
type secrets struct{ adminKey, sealKey string }

// AdminKey is the value of JUNCTOR_ADMIN_KEY; "" when it is not set.
func (c *Config) AdminKey() string { return c.secrets.adminKey }

// SealKey is the value of JUNCTOR_SEAL_KEY; "" when it is not set.
func (c *Config) SealKey() string { return c.secrets.sealKey }

// DoorOn says whether a door of Doors is to be served.
func (c *Config) DoorOn(door string) bool { return !slices.Contains(c.DoorsOff, door) }

// Loopback says whether only this machine can reach the listener.
func (c *Config) Loopback() bool { return loopbackAddress(c.Listen) }

// File is the path of the file that was read; "" where none was named.
func (c *Config) File() string { return c.file }

// FileSum is the SHA-256 of the file's text as it was read.
func (c *Config) FileSum() [sha256.Size]byte { return c.sum }

// Blank says that a file was named and has nothing in it.
func (c *Config) Blank() bool { return c.blank }

// Declared is what the file declares beside settings.
func (c *Config) Declared() Declared { return c.declared }

// Reload reads everything again from where it came from. c stays as it is.
func (c *Config) Reload() (*Config, error) { return Load(c.from) }

// Changed names the settings whose values differ in other.
func (c *Config) Changed(other *Config) []string {
	var names []string
	now := other.Values()
	for i, v := range c.Values() {
		if i < len(now) && now[i].Name == v.Name && now[i].Value != v.Value {
			names = append(names, v.Name)
		}
	}
	return names
}

// Warnings are what is allowed and yet may not be meant.
func (c *Config) Warnings() []string { return slices.Clone(c.warned) }

// Value is one setting as it is in force.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // default, --flag, the variable's name, or file:line
}

// Values lists every setting with where it came from, in the order of the
// table. Secrets are listed when they are set, without their values.
func (c *Config) Values() []Value {
	var out []Value
	for _, s := range Settings() {
		source := c.sources[s.Name]
		if source == "" {
			source = "default"
		}
		out = append(out, Value{Name: s.Name, Value: s.show(c), Source: source})
	}
	for _, env := range []struct{ name, value string }{{envAdminKey, c.AdminKey()}, {envSealKey, c.SealKey()}} {
		if env.value != "" {
			out = append(out, Value{Name: env.name, Value: "***", Source: env.name})
		}
	}
	return out
}

// Doors lists the doors that doors-off can name.
func Doors() []string {
	return []string{"mcp", "plain", "call", "sse", "stdio", "admin", "metrics", "hooks", "a2a"}
}
