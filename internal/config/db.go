package config

import (
	"errors"
	"net/url"
)

// parseDB parses the URL of a PostgreSQL database.
func parseDB(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Path == "" || u.Path == "/" {
		// The value is not repeated, because it may contain a password.
		return nil, errors.New("must be the URL of a PostgreSQL database, such as postgres://user@host:5432/name")
	}
	return u, nil
}

// parseRedis parses the URL of a Redis server.
func parseRedis(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.RawQuery != "" {
		return nil, errors.New("must be the URL of a Redis server, such as redis://127.0.0.1:6379/0, or rediss:// for TLS")
	}
	return u, nil
}

// showDB returns the URL of a database without its password, which may also be
// in the query.
func showDB(u *url.URL) string {
	if u == nil {
		return ""
	}
	shown := *u
	if q := shown.Query(); q.Has("password") {
		q.Set("password", "***")
		shown.RawQuery = q.Encode()
	}
	return shown.Redacted()
}
