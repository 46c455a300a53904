package clients

import (
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	junctor "github.com/junctor-mcp/junctor"
)

// ConfigFile is a configuration file that exists on this machine.
type ConfigFile struct {
	Client  Client
	Path    string
	Project string // the folder of the project that it is for; "" for all
	Text    []byte
	Mode    fs.FileMode
	Entries []Entry
	// Problem says why its servers cannot be read; "" if they can. A file without
	// servers has no problem.
	Problem string
}

// Discover returns the configuration files of all known clients that exist: those of the
// user, and those in the folder of a project (none if project is ""). A file that two
// paths lead to is returned once. system is a GOOS.
func Discover(system string, getenv func(string) string, project string, vars Variables) ([]ConfigFile, error) {
	var found []ConfigFile
	seen := map[string]bool{}
	for _, c := range All() {
		user, err := c.File(system, getenv)
		if err != nil {
			return nil, err
		}
		for _, f := range []ConfigFile{{Client: c, Path: user}, {Client: c, Path: c.ProjectFile(project), Project: project}} {
			if f.Path == "" || f.Project == "" && f.Path != user {
				continue
			}
			real, err := filepath.EvalSymlinks(f.Path)
			if err != nil || seen[real] {
				continue
			}
			seen[real] = true
			f.read(vars)
			found = append(found, f)
		}
	}
	return found, nil
}

// read reads the text and the entries of the file.
func (f *ConfigFile) read(vars Variables) {
	var err error
	if f.Text, f.Mode, err = ReadFile(f.Path); err != nil {
		f.Problem = err.Error()
		return
	}
	if strings.TrimSpace(string(f.Text)) == "" {
		return
	}
	vars.Project = f.Project
	f.Entries, err = Read(f.Path, f.Text, vars)
	if err != nil && junctor.CodeOf(err) != junctor.CodeNotFound {
		f.Problem = err.Error()
	}
}

// MergedServer is one server that one or more clients have.
type MergedServer struct {
	Entry  Entry
	UsedBy []string // names of clients, in the order of the table
	// SameName are the ids of other servers that a client has under the same name.
	SameName []string
}

// MergeEntries returns the servers of all files, each once: entries of several clients that
// reach the same server in the same way are one. taken are ids that are not free. Entries
// for which skip returns a reason are kept with it.
func MergeEntries(files []ConfigFile, taken []string, skip func(ConfigFile, Entry) string) []MergedServer {
	used := map[string]bool{}
	for _, id := range taken {
		used[id] = true
	}
	var merged []MergedServer
	for _, f := range files {
		for _, e := range f.Entries {
			if e.Skip == "" {
				e.Skip = skip(f, e)
			}
			same := slices.IndexFunc(merged, func(m MergedServer) bool {
				return m.Entry.Skip == e.Skip && reflect.DeepEqual(m.Entry.Server, e.Server) && (e.Skip == "" || m.Entry.Name == e.Name)
			})
			if same < 0 {
				e.ID = ""
				merged = append(merged, MergedServer{Entry: e, UsedBy: []string{f.Client.Name}})
			} else if m := &merged[same]; !slices.Contains(m.UsedBy, f.Client.Name) {
				m.UsedBy = append(m.UsedBy, f.Client.Name)
			}
		}
	}
	for i := range merged {
		if merged[i].Entry.Skip == "" {
			merged[i].Entry.ID = makeID(merged[i].Entry.Name, used)
		}
	}
	for i := range merged {
		for j := range merged {
			if i != j && merged[i].Entry.Name == merged[j].Entry.Name && merged[i].Entry.ID != "" && merged[j].Entry.ID != "" {
				merged[i].SameName = append(merged[i].SameName, merged[j].Entry.ID)
			}
		}
	}
	return merged
}

// PreferredID returns the id that a server of this name gets if it is free.
func PreferredID(name string) string { return makeID(name, map[string]bool{}) }

// IsJunctor reports whether an entry leads to Junctor: to one of the addresses (host:port)
// of an instance, or to the command junctor stdio.
func (s *Server) IsJunctor(addresses []string) bool {
	for i, word := range s.Command {
		base := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
		if base == "junctor" && slices.Contains(s.Command[i+1:], "stdio") {
			return true
		}
	}
	u, err := url.Parse(s.URL)
	if s.URL == "" || err != nil {
		return false
	}
	return slices.Contains(addresses, withPort(u))
}

// JunctorKey returns the key with which an entry for Junctor authenticates; "" if it has
// none.
func (s *Server) JunctorKey() string {
	if s.Bearer != "" {
		return s.Bearer
	}
	for name, value := range s.Headers {
		if scheme, token, ok := strings.Cut(value, " "); ok && strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer") {
			return token
		}
	}
	return s.Env["JUNCTOR_KEY"]
}

// withPort returns the host and port of a URL. All names of this machine are one.
func withPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(u.Hostname())
	if host == "127.0.0.1" || host == "::1" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	return host + ":" + port
}

// AddressOf returns the host and port of an instance's URL, for IsJunctor; "" if it is no
// URL.
func AddressOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return withPort(u)
}
