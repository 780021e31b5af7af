"""How each command of the core is called, as its help shows it. The words that a line begins with say of which command it is."""

from __future__ import annotations

from typing import Final

EXAMPLES: Final = r"""
identity serve
identity serve --port 8443 --workers 2 --database-url postgresql://id@db.example/id
identity demo
identity demo --ledger memory --show
identity login --url https://id.example
identity login staging --url https://staging.example --api-key operator.key
identity use
identity use staging
identity logout staging
identity did create --keys hana.json
identity did create --keys isa.json --key Bls12381G2Key2020 assertionMethod --method webvh
identity did deactivate --keys hana.json --confirm --reason 'the phone is lost'
identity did history did:ids:…
identity did history did:ids:… --graph
identity did list --api-key operator.key --limit 200
identity did log approvals did:webvh:…
identity did log approve log.jsonl --folder witness --send
identity did log get did:ids:… | identity did log verify -
identity did log publish did:webvh:… did-witness.json
identity did log verify log.jsonl --did did:ids:…
identity did possession did:ids:… key.json
identity did recover --keys hana.json
identity did recover --keys hana.json --restore-version 3
identity did resolve did:ids:…
identity did resolve did:ids:… --version-time 2026-01-31T12:00:00Z
identity did rotate --keys hana.json --grace-hours 24
identity did update --keys hana.json --add-service inbox MessagingService https://inbox.example
identity did update --keys hana.json --new-key X25519 keyAgreement
identity did update --keys hana.json --strict-evidence
identity auth sign --keys hana.json --purpose update --body change.json
identity auth token --keys hana.json
identity auth token --api-key operator.key --subject did:ids:… --scope 'dids:operate zkp:prove' --json
identity credential accept signed.json --keys hana.json --held hana-held.json --schema schema.json \
    --issuer-document isa.json
identity credential import credential.json --api-key issuer.key
identity credential issue --keys isa.json --holder did:ids:… --schema urn:schema:person --value age 34
identity credential list --keys hana.json --status active
identity credential offer --keys isa.json --holder did:ids:… --schema schema.json --book isa-book.json
identity credential request offer.json --keys hana.json --held hana-held.json
identity credential reset-disclosures 3f0c9f8e-… --keys hana.json
identity credential resume 3f0c9f8e-… --keys isa.json
identity credential revoke 3f0c9f8e-… --keys isa.json --reason 'issued in error'
identity credential rotate-kept-secret --keys hana.json
identity credential rotate-kept-secret --keys hana.json --forget
identity credential rotate-secret --keys hana.json --held hana-held.json
identity credential schema create schema.json --api-key issuer.key
identity credential schema get urn:schema:person --json > schema.json
identity credential schema list --limit 100
identity credential show 3f0c9f8e-… --keys hana.json
identity credential sign --keys isa.json --holder did:ids:… --schema schema.json \
    --value age 34 > credential.json
identity credential sign-request request.json --keys isa.json --schema schema.json \
    --book isa-book.json --value age 34
identity credential suspend 3f0c9f8e-… --keys isa.json
identity credential verify credential.json
identity credential verify credential.json --issuer-key zUC7… --schema schema.json
identity status fetch https://isa.example/status-gaps/LIST --list LIST \
    --method did:web:isa.example#k --key zUC7… \
    --handle handle.txt
identity status publish --keys isa.json --list LIST --handles revoked.txt --folder public
identity delegation create --keys hana.json --agent did:ids:… --level 2 --pin age gte 18 --days 30
identity delegation create --keys hana.json --agent did:ids:… --level 3 \
    --action zkp.prove.age.gte --max-uses 10
identity delegation list --keys hana.json --status active
identity delegation resume 3f0c9f8e-… --keys hana.json
identity delegation revoke 3f0c9f8e-… --keys hana.json --reason 'no longer needed'
identity delegation show 3f0c9f8e-… --keys hana.json
identity delegation suspend 3f0c9f8e-… --keys hana.json
identity keys accept --yes
identity keys create --name shop --scopes dids:create,zkp:prove --days 90
identity keys list
identity keys revoke 3f0c9f8e-…
identity keys rotate 3f0c9f8e-… --grace-hours 24
identity keys rotate log
identity keys show 3f0c9f8e-…
identity keys update 3f0c9f8e-… --scopes dids:create --days none
identity plugins check
identity plugins list
identity plugins new my-ledger --kind ledger --into plugins
identity extensions disable vcalm
identity extensions enable vcalm
identity extensions list
identity extensions remove vcalm --purge --yes
identity config check --config identity.toml
identity config init identity.toml
identity config show --origin --changed
identity proof consent token.json --keys hana.json --held hana-held.json --audience https://shop.example \
    --challenge 0123456789abcdef
identity proof create --keys hana.json --held hana-held.json --predicate age gte 18 \
    --audience https://shop.example --challenge 0123456789abcdef
identity proof get 3f0c9f8e-… --keys aki.json
identity proof hand-over proof.json --keys aki.json --audience https://shop.example \
    --challenge 'of the verifier'
identity proof import proof.json
identity proof request --keys aki.json --ibct token.json --domain https://shop.example \
    --challenge 0123456789abcdef
identity proof revoke 3f0c9f8e-… --keys hana.json --reason 'shown to the wrong shop'
identity proof verify proof.json --issuer-document isa.json --predicate age gte 18 \
    --audience https://shop.example --challenge 0123456789abcdef
identity proof verify proof.json --issuer-document isa.json --signature-only
identity anchor backfill
identity anchor checkpoint --save anchored.txt
identity anchor retry
identity anchor status
identity anchor worker
identity challenge create --domain https://shop.example --keys shop.json
identity verifications list --keys shop.json --refused
identity verifications list --keys hana.json --from 2026-01-05T00:00:00Z --json
identity verifications stats --keys shop.json --from 2026-01-01T00:00:00Z
identity timeline list --keys hana.json
identity events list --url https://id.example
identity ibct issue --keys hana.json --agent did:ids:… --predicate age gte --pin 18 \
    --delegation 3f0c9f8e-1b7a-4c59-9c3e-5d6e0f7a8b9c
identity ibct revoke --keys hana.json --id 3f0c9f8e-…
identity ibct sign token.json --keys hana.json
identity ibct verify token.json --document hana-did.json
identity audit export --output audit.jsonl
identity audit rekey
identity audit verify
identity audit verify --file audit.jsonl --head head.json
identity records erase did:ids:… --kind timeline
identity records export did:ids:… --output hana.jsonl
identity records forget --keys hana.json --kind proofs
identity ledger accept-rollback --new-origin id.example/log2
identity ledger audit --url https://id.example --key log.key --held checkpoint.txt
identity ledger checkpoint --url https://id.example --key log.key --save checkpoint.txt
identity ledger export log --url https://id.example
identity ledger key --url https://id.example > log.key
identity ledger prove did:ids:… > hana.tlog-proof
identity ledger repair did:ids:…
identity ledger repair --all
identity ledger show
identity ledger show did:ids:… --version-id 2
identity ledger verify did:ids:… --url https://id.example --key log.key --save history.json
identity ledger verify hana.tlog-proof --policy policy.txt
identity ledger witness serve --log log.key --folder witness --port 8090
identity backup create nightly.backup --key-file backup.key
identity backup restore nightly.backup --key-file backup.key --data-dir restored --nothing-newer
identity backup verify nightly.backup --key-file backup.key
identity upgrade check --config identity.toml
identity upgrade apply --backup nightly.backup --key-file backup.key
identity upgrade apply --backup-url postgresql:///copy --database-url postgresql://…
identity upgrade apply --yes --database-url postgresql://…
identity fsck --deep --repair-index
identity probe https://id.example --api-key probe.key --within 5
identity doctor
identity support-bundle --log service.log --output bundle.tar.gz
identity completion install
identity completion show bash
identity version
"""


def examples_of(words: tuple[str, ...]) -> list[str]:
    """The lines that call the command at ``words``, such as ``("did", "create")``; one may go on after a backslash."""
    begins = ("identity", *words)
    calls = EXAMPLES.strip().replace("\nidentity", "\0identity").split("\0")
    return [call for call in calls if tuple(call.split()[: len(begins)]) == begins]
