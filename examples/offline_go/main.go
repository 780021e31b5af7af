// An offline verifier in Go: checks the log of a DID without any service, and prints the keys of its issuer.
//
//	go run . issuer.jsonl did:ids:…
//
// The log may come from anywhere. Ends with 0 if it is genuine, else with 1 and the reason. A proof itself is verified by
// `examples/run.py offline_python`: the standard library of Go has no pairing of BLS12-381.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	identity "identity-service-client"
)

func main() {
	if err := check(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "refused:", err)
		os.Exit(1)
	}
}

func check(file, did string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// Entries of the future are refused; five minutes allow for clocks that differ.
	log, err := identity.VerifyLog(string(text), identity.LogCheck{DID: did, Now: time.Now().Add(5 * time.Minute)})
	if err != nil {
		return err
	}
	if log.Deactivated {
		return errors.New("the DID is deactivated")
	}
	fmt.Println("genuine", log.DID, log.VersionID, log.Document["assertionMethod"])
	return nil
}
