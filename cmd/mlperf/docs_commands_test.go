package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// Commands stand in documents between backticks or in lines of their own, and anywhere in texts of help.
var (
	inBackticks = regexp.MustCompile("`(mlperf [^`]+)`")
	lineOfCode  = regexp.MustCompile(`(?m)^(?: {4}|\$ )?(mlperf [a-z].*)$`)
	inHelp      = regexp.MustCompile(`mlperf[ \n][a-z]+[ \n][^\n;:,()]*`)
	bareWord    = regexp.MustCompile(`^[a-z][a-z0-9.-]*$`)
)

// Whoever copies a command from a document or from help must find that it is one, and its flags too.
func TestCommandsThatTextsNameAreThere(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	seen := 0
	for _, path := range append(documents, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []*regexp.Regexp{inBackticks, lineOfCode} {
			for _, m := range form.FindAllStringSubmatch(string(text), -1) {
				seen++
				if wrong := unknownIn(m[1]); wrong != "" {
					t.Errorf("%s: %q: there is no %s", path, m[1], wrong)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d commands were found, want more", seen)
	}
	for _, cmd := range commands(cli.New(io.Discard, io.Discard)) {
		for _, m := range inHelp.FindAllString(cmd.Long, -1) {
			if first := strings.Fields(m)[1]; !isCommand(first) {
				continue // "mlperf in the PATH"
			}
			if wrong := unknownIn(m); wrong != "" {
				t.Errorf("help of %s: %q: there is no %s", cmd.CommandPath(), m, wrong)
			}
		}
	}
}

// unknownIn is what a line names that is neither a command nor a flag of it; "" if there is nothing. Capitals stand for something.
func unknownIn(line string) string {
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)[1:]
	cmd, rest, err := cli.New(io.Discard, io.Discard).Find(words)
	if err == nil && len(rest) > 0 && cmd.HasSubCommands() && bareWord.MatchString(rest[0]) {
		err = cmd.ValidateArgs(rest[:1])
	}
	if err != nil {
		return "command " + strings.Join(words[:min(2, len(words))], " ")
	}
	for _, word := range rest {
		name, ok := strings.CutPrefix(word, "--")
		if name = flagName(name); ok && name != "" && !hasFlag(cmd, name) {
			return fmt.Sprintf("flag --%s of %s", name, cmd.CommandPath())
		}
	}
	return ""
}

// flagName is the first word, of which the rest is a value, or what else a line says.
func flagName(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz0123456789-"))]
}

func hasFlag(cmd *cobra.Command, name string) bool {
	cmd.InitDefaultHelpFlag()
	return cmd.Flags().Lookup(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
}

func isCommand(word string) bool {
	cmd, _, err := cli.New(io.Discard, io.Discard).Find([]string{word})
	return err == nil && cmd.HasParent()
}
