"""headway plan check PLAN | schema"""

import argparse
import json
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Describe what the verb takes."""
    verbs = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = verbs.add_parser(
        "check", help="say what is wrong with a plan, or print every value it means, and what would be decided here"
    )
    check.add_argument("plan", type=Path, metavar="PLAN", help="a plan file, .toml or .json")
    check.add_argument(
        "--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE", help="change the plan"
    )
    verbs.add_parser("schema", help="the JSON schema of a plan file")


def run(options: argparse.Namespace) -> int:
    """Print the resolved plan or the schema as JSON."""
    print(json.dumps(_schema() if options.action == "schema" else _resolved(options), indent=2, ensure_ascii=False))
    return 0


def _schema() -> object:
    from headway.plan.schema import schema
    from headway.run.train import plan_kinds

    return schema(plan_kinds())


def _resolved(options: argparse.Namespace) -> object:
    from headway.cli.places import check_plan
    from headway.plan.fingerprint import DECIDED, fingerprint, resolved
    from headway.run.decisions import decisions
    from headway.run.team import means_of
    from headway.run.train import check_here, read_plan

    check_plan(options.plan)
    plan = read_plan(options.plan, overrides=options.overrides)
    check_here(plan, where=str(options.plan))
    here = decisions(plan, means_of(plan))
    return {"plan": resolved(plan), DECIDED: here, "fingerprint": fingerprint(plan)}
