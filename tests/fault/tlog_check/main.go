// Verifies consistency proofs (RFC 6962 §2.1.2) with golang.org/x/mod/sumdb/tlog, as the Go toolchain has it.
// Reads a JSON array from standard input and writes one line for each element: "ok", or why it was refused.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"check/tlog"
)

type proof struct {
	First, Second         int64
	FirstRoot, SecondRoot []byte
	Hashes                [][]byte
}

func hash(octets []byte) (found tlog.Hash) {
	copy(found[:], octets)
	return found
}

func main() {
	var proofs []proof
	if err := json.NewDecoder(os.Stdin).Decode(&proofs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, one := range proofs {
		var path tlog.TreeProof
		for _, each := range one.Hashes {
			path = append(path, hash(each))
		}
		err := tlog.CheckTree(path, one.Second, hash(one.SecondRoot), one.First, hash(one.FirstRoot))
		if err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("ok")
		}
	}
}
