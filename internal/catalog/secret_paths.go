package catalog

import "github.com/junctor-mcp/junctor/internal/wire"

// maxSecretDepth bounds how deep a schema is searched for secrets.
const maxSecretDepth = 16

// SecretPaths returns JSON pointers to the values that a tool's schemas mark as
// secret (writeOnly, or format password), in its arguments and in its result.
// "*" stands for every element of an array. History redacts these values. It
// looks in all tenants, since its caller, history, names none.
func (s *Snapshot) SecretPaths(server, tool, version string) (arguments, result []string) {
	for _, sh := range s.shelves {
		srv := sh.byID[server]
		if srv == nil || srv.toolsByName[tool] == nil {
			continue
		}
		for _, v := range srv.toolsByName[tool].Versions {
			if v.Version == version {
				arguments = append(arguments, v.secrets().arguments...)
				result = append(result, v.secrets().result...)
			}
		}
	}
	return arguments, result
}

// secretMembers are the pointers of one version of a tool.
type secretMembers struct{ arguments, result []string }

// findSecrets searches both schemas of a tool.
func findSecrets(tool []byte) secretMembers {
	return secretMembers{
		arguments: secretPointers(nil, "", wire.Get(tool, "inputSchema"), 0),
		result:    secretPointers(nil, "", wire.Get(tool, "outputSchema"), 0),
	}
}

// secretPointers appends the pointers of secrets below one schema. References
// are not followed.
func secretPointers(found []string, at string, schema []byte, depth int) []string {
	if len(schema) == 0 || schema[0] != '{' || depth > maxSecretDepth {
		return found
	}
	format, _ := wire.String(wire.Get(schema, "format"))
	if format == "password" || string(wire.Get(schema, "writeOnly")) == "true" {
		return append(found, at)
	}
	if properties := wire.Get(schema, "properties"); len(properties) > 0 && properties[0] == '{' {
		for name, sub := range wire.Members(properties) {
			found = secretPointers(found, at+formatPointer([]string{wire.Unescape(name)}), sub, depth+1)
		}
	}
	return secretPointers(found, at+"/*", wire.Get(schema, "items"), depth+1)
}
