// Does each job of the list on standard input, and prints what came of it by the job's name.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	identity "identity-service-client"
)

type job struct {
	Kind, Log, DID, Operation, Attribute, Type, Challenge, URL, APIKey, Note, LogKey, Root, LeafHash string
	Witnesses                                                                                        json.RawMessage
	Cosignatures                                                                                     int
	Size, LeafIndex                                                                                  int64
	Hashes                                                                                           []string
	First, Second                                                                                    []json.RawMessage
	Value                                                                                            json.RawMessage
	List                                                                                             json.RawMessage
	Entry                                                                                            identity.CredentialStatusEntry
	Signers                                                                                          []string
	Given                                                                                            struct {
		DID  string
		Body json.RawMessage
	}
	Now    time.Time
	Issued *identity.CreatedDid
	Wish   struct {
		Target, Action, DelegationRef string
		ExpiresIn                     time.Duration
	}
	Wanted  struct{ Origin, Purpose, BodyHash, Target string }
	Options struct {
		URL, APIKey     string
		MaxAnswerOctets int64
		MaxPages        int
	}
}

// checkpointOf has size and root.
func checkpointOf(origin string, pair []json.RawMessage) identity.Checkpoint {
	return identity.Checkpoint{Origin: origin, Size: read[int64](pair[0]), Root: read[string](pair[1])}
}

func read[T any](octets json.RawMessage) (value T) {
	if octets == nil {
		return value
	}
	if err := json.Unmarshal(octets, &value); err != nil {
		panic(err)
	}
	return value
}

func (j job) do() (any, error) {
	ctx := context.Background()
	switch j.Kind {
	case "canonicalize":
		octets, err := identity.Canonicalize(j.Value)
		return string(octets), err
	case "no text":
		return identity.Canonicalize(map[string]string{"a": "\xff"})
	case "action":
		var value any = j.Value
		if j.Value == nil {
			value = json.RawMessage("null")
		}
		return identity.ActionOf(j.Attribute, identity.AskedPredicateType(j.Type), value)
	case "pinned":
		return pinned(), nil
	case "log":
		var told []any
		onEntry := func(one identity.CheckedEntry) {
			told = append(told, []any{one.Line, one.VersionID, one.Operation, one.IsAsked})
		}
		check := identity.LogCheck{DID: j.DID, Now: j.Now, Witnesses: read[string](j.Witnesses), OnEntry: onEntry}
		found, err := identity.VerifyLog(j.Log, check)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"did": found.DID, "versions": found.Versions, "versionId": found.VersionID, "deactivated": found.Deactivated,
			"didDocument": found.Document, "entries": told, "updateKeys": found.UpdateKeys,
			"unboundChanges": found.UnboundChanges,
		}, nil
	case "checkpoint":
		check := identity.CheckpointCheck{LogKey: j.LogKey, Witnesses: read[[]string](j.Witnesses), Cosignatures: j.Cosignatures}
		found, err := identity.VerifyCheckpoint(j.Note, check)
		cosigned := map[string]int64{}
		for name, at := range found.Cosigned {
			cosigned[name] = at.Unix()
		}
		return map[string]any{"origin": found.Origin, "size": found.Size, "root": found.Root, "cosigned": cosigned}, err
	case "inclusion":
		proof := identity.LedgerInclusionProof{LeafIndex: j.LeafIndex, LeafHash: j.LeafHash, Hashes: j.Hashes}
		return nil, identity.VerifyInclusion(identity.Checkpoint{Origin: "a", Size: j.Size, Root: j.Root}, proof)
	case "consistency":
		proof := identity.LedgerConsistencyProof{Hashes: j.Hashes}
		return nil, identity.VerifyConsistency(checkpointOf("a", j.First), checkpointOf("a", j.Second), proof)
	case "other origin":
		return nil, identity.VerifyConsistency(checkpointOf("a", j.First), checkpointOf("b", j.Second), identity.LedgerConsistencyProof{})
	case "status":
		return identity.ReadStatus(j.List, j.Entry, j.Signers)
	case "ibct":
		signer, err := identity.SignerOf(*j.Issued)
		if err != nil {
			return nil, err
		}
		wish := j.Wish
		return identity.SignToken(signer, identity.TokenWish{
			Target: wish.Target, Action: wish.Action, DelegationRef: wish.DelegationRef, ExpiresIn: wish.ExpiresIn * time.Second,
		})
	case "proof request":
		return identity.ProofRequest(read[identity.IBCT](j.Value), "urn:uuid:credential", read[[]any](j.List)[0])
	case "presentation request":
		return identity.PresentationOf(read[identity.IBCT](j.Value), "urn:uuid:credential", read[[]any](j.List)...)
	case "sign":
		signer := identity.Must(identity.SignerOf(*j.Issued))
		return identity.SignChallenge(signer, j.Challenge, j.Wanted.Origin, j.Wanted.Purpose, j.Wanted.BodyHash, j.Wanted.Target)
	case "flow":
		return flow(ctx, identity.Options{URL: j.URL, APIKey: j.APIKey})
	case "story":
		return story(ctx, identity.Options{URL: j.URL, APIKey: j.APIKey})
	case "verify":
		return j.client().Verify(ctx, "e30", read[identity.Expectation](j.Value))
	case "verify loosely":
		expect := read[identity.Expectation](j.Value)
		expect.AllowUnbound = true
		return j.client().Verify(ctx, "e30", expect)
	case "aborted":
		limited, cancel := context.WithCancel(ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		return j.client().GetHealth(limited)
	}
	id := j.client()
	if j.Issued != nil {
		id = id.As(identity.Must(identity.SignerOf(*j.Issued)))
	}
	switch j.Operation {
	case "getHealth":
		return id.GetHealth(ctx)
	case "verifyCredential":
		return id.VerifyCredential(ctx, read[identity.VerifyCredentialRequest](j.Given.Body))
	case "createDid":
		return id.CreateDid(ctx, read[identity.CreateDidRequest](j.Given.Body))
	case "updateDid":
		return id.UpdateDid(ctx, j.Given.DID, read[identity.UpdateDidRequest](j.Given.Body))
	case "listCredentialSchemas":
		return nil, id.EachListCredentialSchemas(ctx, func(identity.CredentialSchema) error { return nil })
	}
	return nil, fmt.Errorf("no such job: %s %s", j.Kind, j.Operation)
}

func (j job) client() *identity.Client {
	options := j.Options
	return identity.New(identity.Options{
		URL: options.URL, APIKey: options.APIKey, MaxAnswerOctets: options.MaxAnswerOctets, MaxPages: options.MaxPages,
	})
}

// pinned are the characters that a text may have without Normalize.
func pinned() (found []rune) {
	for character := rune(0); character < 0x12000; character++ {
		if _, err := identity.ActionOf("a", "eq", string(character)); err == nil && character != 0xfffd {
			found = append(found, character)
		}
	}
	return found
}

func outcome(j job) map[string]any {
	value, err := j.do()
	var refused *identity.IdentityError
	var wrong *identity.LogInvalid
	switch {
	case err == nil:
		return map[string]any{"value": value}
	case errors.As(err, &wrong):
		return map[string]any{"error": map[string]any{"name": "LogInvalid", "message": err.Error(), "line": wrong.Line, "requirement": wrong.Requirement}}
	case errors.As(err, &refused):
		said := map[string]any{"name": "IdentityError", "message": err.Error(), "status": refused.Status, "code": refused.Code}
		if refused.RetryAfter != nil {
			said["retryAfterMs"] = refused.RetryAfter.Milliseconds()
		}
		return map[string]any{"error": said}
	case errors.Is(err, context.Canceled):
		return map[string]any{"error": map[string]any{"name": "AbortError"}}
	}
	return map[string]any{"error": map[string]any{"name": "TypeError", "message": err.Error()}}
}

func main() {
	if len(os.Args) > 1 {
		// As much of NFC as the jobs need.
		identity.Normalize = strings.NewReplacer(os.Args[1], os.Args[2]).Replace
	}
	var jobs map[string]job
	if err := json.NewDecoder(os.Stdin).Decode(&jobs); err != nil {
		panic(err)
	}
	outcomes, lock, running := map[string]any{}, sync.Mutex{}, sync.WaitGroup{}
	for name, one := range jobs {
		running.Add(1)
		go func(name string, one job) {
			defer running.Done()
			done := outcome(one)
			lock.Lock()
			defer lock.Unlock()
			outcomes[name] = done
		}(name, one)
	}
	running.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(outcomes); err != nil {
		panic(err)
	}
}
