// Command oracle checks a signed note and Merkle proofs with golang.org/x/mod, as test_go.py asks.
package main

import (
	"encoding/json"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type proof struct {
	Hashes      [][]byte
	Size, Other int64 // of the tree; the index of the line, or the size of the older tree
	Root, Line  []byte
	OlderRoot   []byte
}

type asked struct {
	Note, Key string
	Lines     []proof
	Trees     []proof
}

type told struct {
	Text         string
	Lines, Trees []bool
}

func hash(data []byte) (found tlog.Hash) {
	copy(found[:], data)
	return
}

func hashes(rows [][]byte) (found []tlog.Hash) {
	for _, row := range rows {
		found = append(found, hash(row))
	}
	return
}

func main() {
	var ask asked
	if err := json.NewDecoder(os.Stdin).Decode(&ask); err != nil {
		panic(err)
	}
	said := told{Lines: []bool{}, Trees: []bool{}}
	verifier, err := note.NewVerifier(ask.Key)
	if err != nil {
		panic(err)
	}
	if opened, err := note.Open([]byte(ask.Note), note.VerifierList(verifier)); err == nil {
		said.Text = opened.Text
	}
	for _, row := range ask.Lines {
		err := tlog.CheckRecord(hashes(row.Hashes), row.Size, hash(row.Root), row.Other, tlog.RecordHash(row.Line))
		said.Lines = append(said.Lines, err == nil)
	}
	for _, row := range ask.Trees {
		err := tlog.CheckTree(hashes(row.Hashes), row.Size, hash(row.Root), row.Other, hash(row.OlderRoot))
		said.Trees = append(said.Trees, err == nil)
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
}
