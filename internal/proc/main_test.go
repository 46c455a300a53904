package proc_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/junctor-mcp/junctor/internal/proc"
)

// TestMain lets the test binary play the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == proc.ReaperVerb {
		os.Exit(proc.RunReaper(os.Args[2:]))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "play-") {
		os.Exit(play(strings.TrimPrefix(os.Args[1], "play-")))
	}
	goleak.VerifyTestMain(m)
}

func play(role string) int {
	switch role {
	case "exit3":
		return 3
	case "env":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "polite": // ends when asked
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("armed")
		<-asked
	case "stubborn": // does not end when asked
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("armed")
		idle()
	case "parent": // has a child that does not end when asked
		return startChild("play-stubborn", idle)
	case "deserter": // leaves such a child behind
		return startChild("play-stubborn", func() {})
	case "worker": // uses CPU and memory, in a child of its own too
		return startChild("play-burn", func() { burn(); idle() })
	case "burn":
		burn()
		idle()
	default:
		return playReaped(role)
	}
	return 0
}

// idle waits until the test that holds the other end lets go or ends.
func idle() { _, _ = io.Copy(io.Discard, os.Stdin) }

func startChild(role string, then func()) int {
	c := exec.Command(os.Args[0], role)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	then()
	return 0
}

// burn keeps one core busy for a while, holds memory, and says when it is done.
func burn() {
	held := make([]byte, 32<<20)
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for i := range held {
			held[i]++
		}
	}
	fmt.Printf("burnt %d\n", held[0])
}
