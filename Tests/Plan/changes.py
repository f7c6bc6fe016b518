"""Breaking changes of a plan, each of which `sluice plan diff` must find, beside changes that break nothing."""
import copy
import json
import subprocess


def purchase(plan):
    return plan["events"]["Purchase"]


def search(plan):
    return plan["events"]["Search"]


def rule(event, name, **keywords):
    event["properties"][name].update(keywords)


BREAKING = {
    "an event is removed": lambda plan: plan["events"].pop("Opened"),
    "an event is renamed": lambda plan: plan["events"].update({"Open": plan["events"].pop("Opened")}),
    "an optional property is removed": lambda plan: purchase(plan)["properties"].pop("coupon"),
    "a property is renamed": lambda plan: purchase(plan)["properties"].update(
        {"voucher": purchase(plan)["properties"].pop("coupon")}),
    "a property becomes required": lambda plan: purchase(plan)["required"].append("coupon"),
    "a new property is required": lambda plan: (
        purchase(plan)["properties"].update({"currency": {"type": "string"}}), purchase(plan)["required"].append("currency")),
    "a number becomes an integer": lambda plan: rule(purchase(plan), "amount", type="integer"),
    "a string becomes a date": lambda plan: rule(purchase(plan), "coupon", format="date-time"),
    "a string becomes a number": lambda plan: rule(search(plan), "default", type="number"),
    "a string becomes a choice": lambda plan: rule(purchase(plan), "coupon", enum=["SPRING"]),
    "a choice loses a value": lambda plan: purchase(plan)["properties"]["plan"]["enum"].remove("pro"),
    "a string is shorter at most": lambda plan: rule(purchase(plan), "sku", maxLength=39),
    "a string is longer at least": lambda plan: rule(purchase(plan), "sku", minLength=2),
    "a string gets a limit": lambda plan: rule(purchase(plan), "coupon", maxLength=1000),
    "the minimum is higher": lambda plan: rule(purchase(plan), "quantity", minimum=2),
    "the maximum is lower": lambda plan: rule(purchase(plan), "amount", maximum=99999.5),
    "an array has fewer elements": lambda plan: rule(search(plan), "sizes", maxItems=2),
    "the elements of an array lose a value": lambda plan: search(plan)["properties"]["sizes"]["items"]["enum"].remove("L"),
    "a property of an object is removed": lambda plan: (
        search(plan)["properties"]["range"]["properties"].pop("to"), search(plan)["properties"]["range"]["required"].pop()),
    "personal data is no longer hashed": lambda plan: purchase(plan)["properties"]["email"].pop("personal"),
    "a property of a plugin is listed": lambda plan: purchase(plan)["properties"].update({"$screen": {"type": "string"}}),
    "an event of a plugin is listed": lambda plan: plan["events"].update({"$AppStart": {"description": "The app was started."}}),
    "an object gets its first rule": lambda plan: search(plan)["properties"]["extra"].update(
        {"properties": {"from": {"type": "string"}}}),
}
HARMLESS = {
    "nothing": lambda plan: None,
    "a new event": lambda plan: plan["events"].update({"Closed": {"description": "The app was closed."}}),
    "a new optional property": lambda plan: purchase(plan)["properties"].update({"currency": {"type": "string"}}),
    "an event gets its first property": lambda plan: plan["events"]["Opened"].update(
        {"properties": {"from": {"type": "string"}}}),
    "a property isn't required any more": lambda plan: purchase(plan)["required"].remove("amount"),
    "an integer becomes a number": lambda plan: rule(purchase(plan), "quantity", type="number"),
    "a date becomes a string": lambda plan: purchase(plan)["properties"]["paid_at"].pop("format"),
    "a choice becomes a string": lambda plan: purchase(plan)["properties"].update({"plan": {"type": "string"}}),
    "a choice has a new value": lambda plan: purchase(plan)["properties"]["plan"]["enum"].append("team"),
    "a wider limit": lambda plan: rule(purchase(plan), "sku", maxLength=41),
    "another owner": lambda plan: purchase(plan).update({"owner": "shop"}),
}


def run(sluice, plan, folder):
    old = json.loads(plan.read_text())
    result = True
    for kind, changes, wanted in [("breaking", BREAKING, 1), ("harmless", HARMLESS, 0)]:
        right = 0
        for name, change in changes.items():
            new = copy.deepcopy(old)
            change(new)
            path = folder / "new.plan.json"
            path.write_text(json.dumps(new))
            run = subprocess.run([sluice, "plan", "diff", plan, path], capture_output=True, text=True)
            if run.returncode == wanted:
                right += 1
            else:
                print(f"{name}: status {run.returncode}\n{run.stdout}{run.stderr}")
        print(f"{right} of {len(changes)} {kind} changes have the status {wanted}")
        result &= right == len(changes)
    return result
