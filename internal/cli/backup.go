package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	junctor "github.com/junctor-mcp/junctor"
	"github.com/junctor-mcp/junctor/internal/backup"
)

// backupCommand returns `junctor backup`, which works with and without a
// running instance.
func (c *cli) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Back up an instance, also a running one, to one file",
		Long: "Write the databases, the journal and its signed heads to one archive; - is standard output. The instance " +
			"can keep running.\n\n" +
			"The archive has no key files. Keep copies of seal.key and heads/signing.key in another place: without " +
			"seal.key, the secrets in a backup cannot be decrypted. The backup is authenticated with the sealing key, so " +
			"restore detects any change. If the key is not in the data directory, give it with --seal-key-file or " +
			"JUNCTOR_SEAL_KEY.",
		Example: "  junctor backup junctor-2026-01-31.tar.gz", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			var m backup.Manifest
			err = c.writeNewFile(args[0], func(w io.Writer) error {
				m, err = c.writeBackup(cmd.Context(), cfg, w)
				return err
			})
			if err != nil {
				return err
			}
			if m.SealKey == "" {
				c.printNote("warning: this backup is not authenticated, because there is no sealing key here: junctor restore will ask for --unverified. Name the key with --seal-key-file, or set JUNCTOR_SEAL_KEY, and make the backup again.")
			}
			return c.printManifest(args[0], m)
		}),
	}
	c.addSettings(cmd, "data-dir", "db", "seal-key-file")
	cmd.AddCommand(c.backupVerify())
	return cmd
}

// backupVerify returns `backup verify`.
func (c *cli) backupVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify FILE", Short: "Check that a backup is whole and authentic, without restoring it",
		Long: "Verify a backup without restoring it; - is standard input. Every file must match the manifest, and the " +
			"manifest must be authenticated by a known sealing key. Otherwise the command says why, and the exit code is " +
			"1.",
		Example: "  junctor backup verify junctor-2026-01-31.tar.gz", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			in, done, err := c.openArchive(args[0])
			if err != nil {
				return err
			}
			defer done()
			m, err := c.verifyBackup(cmd.Context(), cfg, in)
			if err != nil {
				return err
			}
			c.printNote("the backup is whole, and authenticated by the sealing key %s", m.SealKey)
			return c.printManifest(args[0], m)
		}),
	}
	c.addSettings(cmd, "data-dir", "seal-key-file")
	return cmd
}

// openArchive opens a backup for reading; - is standard input. The caller calls
// done.
func (c *cli) openArchive(file string) (in io.Reader, done func(), err error) {
	if file == "-" {
		return c.in, func() {}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, usageErrorf("the backup cannot be read: %v", err)
	}
	return f, func() { _ = f.Close() }, nil
}

// restoreCommand returns `junctor restore`. It refuses a data directory on
// which an instance runs, because both would write to the same database.
func (c *cli) restoreCommand() *cobra.Command {
	var unverified bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Restore an instance from a backup",
		Long: "Restore a backup to a data directory or database that is empty except for key files; - is standard input. " +
			"The backup can come from the other database engine, or from an older version. Everything is checked before " +
			"anything is written.\n\n" +
			"First copy seal.key and heads/signing.key to the data directory from the place where you keep them. The " +
			"sealing key also proves that nobody changed the backup. After a rotation of the key, use the key from the " +
			"time of the backup.",
		Example: "  junctor restore junctor-2026-01-31.tar.gz --data-dir /var/lib/junctor", Args: cobra.ExactArgs(1),
		RunE: runCommand(func(cmd *cobra.Command, args []string) error {
			cfg, err := c.loadConfig(cmd)
			if err != nil {
				return err
			}
			if _, err := c.probeInstance(cmd.Context(), cfg.DataDir); err == nil {
				return junctor.Errorf(junctor.CodeConflict, "an instance runs on the data directory %s; stop it, or choose another with --data-dir", cfg.DataDir)
			}
			in, done, err := c.openArchive(args[0])
			if err != nil {
				return err
			}
			defer done()
			m, err := c.restoreBackup(cmd.Context(), cfg, in, unverified)
			if err != nil {
				return err
			}
			if unverified {
				c.printNote("warning: it was not verified who made this backup: look at the keys, users, agents and servers that it has before you use it")
			}
			// The sealing key was needed; the key that signs the journal is made anew without a copy.
			if _, err := os.Stat(filepath.Join(cfg.DataDir, "heads", "signing.key")); err == nil && !unverified && !c.wantsJSON() {
				m.KeysNote = ""
			}
			return c.printManifest(absolutePath(cfg.DataDir), m)
		}),
	}
	cmd.Flags().BoolVar(&unverified, "unverified", false, "restore a backup that cannot be authenticated, because its sealing key is lost or it is from an older version")
	c.addSettings(cmd, "data-dir", "db", "seal-key-file")
	return cmd
}

// writeNewFile writes a file as a whole or not at all, readable by this user
// only. An existing file is not replaced: it may be the last good backup. - is
// standard output.
func (c *cli) writeNewFile(file string, write func(io.Writer) error) error {
	if file == "-" {
		return write(c.out)
	}
	// Checked before the backup is made, which may take long.
	if _, err := os.Lstat(file); err == nil {
		return junctor.Errorf(junctor.CodeConflict, "%s already exists; choose another name", file)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".junctor-*") // 0600
	if err != nil {
		return usageErrorf("%s cannot be written: %v", file, err)
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s cannot be written: %w", file, err)
	}
	// Unlike a rename, a link fails if the file has appeared meanwhile.
	err = os.Link(f.Name(), file)
	if errors.Is(err, fs.ErrExist) {
		return junctor.Errorf(junctor.CodeConflict, "%s already exists; choose another name", file)
	}
	if err != nil { // some file systems do not support links
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", file, err)
	}
	return nil
}

// printManifest prints what a backup contains. If the backup itself is on
// standard output, the summary goes to standard error.
func (c *cli) printManifest(place string, m backup.Manifest) error {
	if m.KeysNote != "" {
		c.printNote("%s", m.KeysNote)
	}
	var rows, size int64
	tables, files := 0, 0
	// Members below the folder of a schema are tables, all others are files.
	for _, member := range m.Members {
		size += member.Size
		if folder, _, _ := strings.Cut(member.Name, "/"); m.Schemas[folder] > 0 {
			tables++
			rows += member.Rows
		} else {
			files++
		}
	}
	if place == "-" {
		c.printNote("%d rows of %d tables and %d files, %d bytes", rows, tables, files, size)
		return nil
	}
	if c.wantsJSON() {
		return c.printJSON(m)
	}
	return c.printFacts("at", place, "made", formatTime(m.CreatedAt), "of", "junctor "+m.Version+" on "+m.Engine,
		"tables", strconv.Itoa(tables), "rows", strconv.FormatInt(rows, 10), "files", strconv.Itoa(files), "bytes", strconv.FormatInt(size, 10))
}
