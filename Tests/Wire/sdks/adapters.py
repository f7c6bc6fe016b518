"""The vendors' SDKs behind one interface: the calls of Docs/Migrating.md, with ids that the host passes.

A call that an SDK doesn't have is missing here. `told` is for what an SDK passes to its host beside exceptions and logs.
"""

import contextlib
import datetime

PROPERTIES = {"query": "tea", "results": 3, "exact": True, "price": 12.5}
DATE = datetime.datetime(2025, 11, 28, 9, 0, 0, 500_000, tzinfo=datetime.timezone.utc)
VALUES = {"at": DATE, "tags": ["a", "b"], "place": {"city": "Rome", "floor": 2}}


class Adapter:
    def __init__(self, url, told, room=None):
        self.url, self.told, self.user, self.groups = url, told, None, {}
        self.open(room)

    def track(self, word):
        self.event("Search", {"query": word})

    def flush(self):
        self.client.flush()

    def act(self, call):
        """Returns whether the SDK has the call."""
        do = getattr(self, call.replace(" ", "_"), None)
        if do is None:
            return False
        do()
        return True

    def anonymous(self):
        self.event("Search", dict(PROPERTIES))

    known = switched = anonymous

    def values(self):
        self.event("Order", dict(VALUES))

    def in_group(self):
        self.event("Search", {"query": "tea"})


class Segment(Adapter):
    def open(self, room):
        from segment.analytics.client import Client

        self.client = self.make(Client, room)

    def make(self, client, room):
        further = {"max_queue_size": room} if room else {}
        return client("key", host=self.url, on_error=lambda error, _: self.told("`on_error`"), **further)

    @property
    def ids(self):
        return {"user_id": self.user, "anonymous_id": "a-1"}

    def event(self, name, properties):
        context = {"groupId": self.groups["company"]} if self.groups else {}
        result = self.client.track(event=name, properties=properties, context=context, **self.ids)
        if not result[0]:
            self.told("`track` returns False")

    def login(self):
        self.user = "u-1"
        self.client.identify(traits={"plan": "pro"}, **self.ids)

    def switch(self):
        self.user = "u-2"
        self.client.identify(traits={"plan": "free"}, **self.ids)

    def set(self):
        self.client.identify(traits={"plan": "pro", "seats": 5}, **self.ids)

    def group(self):
        self.groups = {"company": "acme"}
        self.client.group(group_id="acme", traits={"seats": 5}, **self.ids)

    def leave_group(self):
        self.groups = {}

    def alias(self):
        self.client.alias(previous_id="old-1", user_id=self.user)

    def new_id(self):
        # As `alias(newId:)` of the SDKs for apps: the user has the new id from then on.
        former, self.user = self.user, "u-3"
        self.client.alias(previous_id=former, user_id=self.user)

    def screen(self):
        self.client.screen(name="Product", properties={"sku": "A-7"}, **self.ids)

    def revenue(self):
        product = {"product_id": "A-7", "price": 12.5, "quantity": 2}
        order = {"order_id": "o-1", "revenue": 25.0, "currency": "EUR", "products": [product]}
        self.client.track(event="Order Completed", properties=order, **self.ids)

    def reset(self):
        self.user = None


class Rudder(Segment):
    def open(self, room):
        from rudderstack.analytics.client import Client

        self.client = self.make(Client, room)


class PostHog(Adapter):
    mode = "v1"

    def open(self, room):
        from posthog import Posthog

        further = {"max_queue_size": room} if room else {}
        self.client = Posthog(
            "key", host=self.url, on_error=lambda error, _: self.told("`on_error`"), capture_mode=self.mode, **further)

    def flush(self):
        # By default it gives up after 10 s, which are a moment of a clock that runs fast.
        self.client.flush(timeout_seconds=600)

    @property
    def id(self):
        return self.user or "a-1"

    def event(self, name, properties):
        if self.client.capture(name, distinct_id=self.id, properties=properties, groups=self.groups) is None:
            self.told("`capture` returns None")

    def login(self):
        # The API's event: the SDK has no call.
        self.user = "u-1"
        self.event("$identify", {"$anon_distinct_id": "a-1", "$set": {"plan": "pro"}})

    def switch(self):
        self.user = "u-2"
        self.client.set(distinct_id=self.id, properties={"plan": "free"})

    def set(self):
        self.client.set(distinct_id=self.id, properties={"plan": "pro", "seats": 5})

    def set_once(self):
        self.client.set_once(distinct_id=self.id, properties={"first": "2026-11-28"})

    def unset(self):
        # The API's event: the SDK has no call.
        self.event("$set", {"$unset": ["plan"]})

    def group(self):
        self.groups = {"company": "acme"}
        self.client.group_identify("company", "acme", {"seats": 5}, distinct_id=self.id)

    def leave_group(self):
        self.groups = {}

    def registered(self):
        self.client.super_properties = {"tier": "gold"}
        self.in_group()
        self.client.super_properties = None

    def alias(self):
        # The first argument stays the event's id, as with `identity.alias`.
        self.client.alias(previous_id=self.user, distinct_id="old-1")

    def reset(self):
        self.user = None


class PostHogBatch(PostHog):
    mode = "v0"


class Mixpanel(Adapter):
    buffered = False

    def open(self, room):
        import mixpanel

        paths = {"events_url": "/track", "people_url": "/engage", "groups_url": "/groups", "import_url": "/import"}
        urls = {name: self.url + path for name, path in paths.items()}
        self.module, self.consumer_class, self.urls = mixpanel, mixpanel.Consumer, urls
        self.consumer = (mixpanel.BufferedConsumer if self.buffered else mixpanel.Consumer)(**urls)
        self.client = mixpanel.Mixpanel("key", consumer=self.consumer)

    @property
    def id(self):
        return self.user or "$device:a-1"

    def event(self, name, properties):
        ids = {"$device_id": "a-1", **({"$user_id": self.user} if self.user else {}), **self.groups}
        self.client.track(self.id, name, {**ids, **properties})

    def flush(self):
        if self.buffered:
            self.consumer.flush()

    def login(self):
        self.user = "u-1"
        self.client.people_set(self.id, {"plan": "pro"})

    def switch(self):
        self.user = "u-2"
        self.client.people_set(self.id, {"plan": "free"})

    def set(self):
        self.client.people_set(self.id, {"plan": "pro", "seats": 5})

    def set_once(self):
        self.client.people_set_once(self.id, {"first": "2026-11-28"})

    def increment(self):
        self.client.people_increment(self.id, {"logins": 1})

    def append(self):
        self.client.people_append(self.id, {"tags": "a"})

    def unset(self):
        self.client.people_unset(self.id, ["plan"])

    def delete(self):
        self.client.people_delete(self.id)

    def group(self):
        self.groups = {"company": ["acme"]}
        self.client.group_set("company", "acme", {"seats": 5})

    def leave_group(self):
        self.groups = {}

    def alias(self):
        # This call ignores the client's consumer, and connects to api.mixpanel.com.
        with replaced(self.module, "Consumer", lambda: self.consumer_class(**self.urls)):
            self.client.alias("old-1", self.user)

    def revenue(self):
        self.client.people_track_charge(self.id, 25.0)

    def timed(self):
        self.event("Checkout", {"items": 2, "$duration": 1.5})

    def reset(self):
        self.user = None


class BufferedMixpanel(Mixpanel):
    buffered = True


class Amplitude(Adapter):
    def open(self, room):
        import amplitude

        self.module = amplitude
        configuration = amplitude.Config(server_url=self.url + "/2/httpapi", callback=self.answered)
        self.client = amplitude.Amplitude("key", configuration)

    def answered(self, event, code, message):
        if code != 200:
            self.told("`callback`")

    def flush(self):
        future = self.client.flush()[0]
        if future and future.exception():
            self.told("the future of `flush` raises")

    @property
    def ids(self):
        return {"device_id": "a-1", **({"user_id": self.user} if self.user else {})}

    @property
    def options(self):
        return self.module.EventOptions(**self.ids)

    def event(self, name, properties):
        groups = {"groups": self.groups} if self.groups else {}
        self.client.track(self.module.BaseEvent(name, event_properties=properties, **self.ids, **groups))

    def identify(self, *operation):
        identify = self.module.Identify()
        getattr(identify, operation[0])(*operation[1:])
        self.client.identify(identify, self.options)

    def values(self):
        # A date is refused, with a message in the log.
        self.event("Order", {**VALUES, "at": "2025-11-28T09:00:00.500Z"})

    def login(self):
        self.user = "u-1"
        self.identify("set", "plan", "pro")

    def switch(self):
        self.user = "u-2"
        self.identify("set", "plan", "free")

    def set(self):
        identify = self.module.Identify().set("plan", "pro").set("seats", 5)
        self.client.identify(identify, self.options)

    def set_once(self):
        self.identify("set_once", "first", "2026-11-28")

    def increment(self):
        self.identify("add", "logins", 1)

    def append(self):
        self.identify("append", "tags", ["a"])

    def unset(self):
        self.identify("unset", "plan")

    def delete(self):
        self.identify("clear_all")

    def group(self):
        self.groups = {"company": "acme"}
        self.client.set_group("company", "acme", self.options)
        self.client.group_identify("company", "acme", self.module.Identify().set("seats", 5), self.options)

    def leave_group(self):
        self.groups = {}

    def revenue(self):
        revenue = self.module.Revenue(price=12.5, quantity=2, product_id="A-7", currency="EUR")
        self.client.revenue(revenue, self.options)

    def reset(self):
        self.user = None


class Snowplow(Adapter):
    asynchronous = False

    def open(self, room):
        import snowplow_tracker as module
        from snowplow_tracker.emitters import AsyncEmitter, Emitter

        self.module = module
        further = {"buffer_capacity": room} if room else {}
        self.emitter = (AsyncEmitter if self.asynchronous else Emitter)(
            self.url, on_failure=lambda *_: self.told("`on_failure`"), **further)
        self.client = module.Tracker("tracker", self.emitter, app_id="shop", encode_base64=False)

    def flush(self):
        self.emitter.sync_flush() if self.asynchronous else self.emitter.flush()

    @property
    def subject(self):
        subject = self.module.Subject()
        subject.set_domain_user_id("a-1")
        if self.user:
            subject.set_user_id(self.user)
        return subject

    def event(self, name, properties):
        schema = f"iglu:com.example/{name}/jsonschema/1-0-0"
        described = self.module.SelfDescribingJson(schema, properties)
        self.client.track(self.module.SelfDescribing(described, event_subject=self.subject))

    def values(self):
        # Its encoder raises for a date.
        self.event("Order", {**VALUES, "at": "2025-11-28T09:00:00.500Z"})

    def login(self):
        self.user = "u-1"

    def switch(self):
        self.user = "u-2"

    def screen(self):
        self.client.track(self.module.ScreenView(
            id_="6f1b3c0a-0000-4000-8000-000000000000", name="Product", event_subject=self.subject))

    def reset(self):
        self.user = None


class AsyncSnowplow(Snowplow):
    asynchronous = True


class Sensors(Adapter):
    consumer = "BatchConsumer"

    def open(self, room):
        import sensorsanalytics.sdk as module

        further = {"max_size": room} if room and self.consumer == "AsyncBatchConsumer" else {}
        consumer = getattr(module, self.consumer)(self.url + "/sa?project=default", **further)
        self.client = module.SensorsAnalytics(consumer)
        self.identity = module.SensorsAnalyticsIdentity

    @property
    def ids(self):
        return {"distinct_id": self.user or "a-1", "is_login_id": self.user is not None}

    def event(self, name, properties):
        self.client.track(event_name=name, properties=properties, **self.ids)

    def values(self):
        # An object raises.
        self.event("Order", {"at": VALUES["at"], "tags": VALUES["tags"]})

    def login(self):
        self.user = "u-1"
        self.client.track_signup("u-1", "a-1", {"plan": "pro"})

    def switch(self):
        self.user = "u-2"
        self.client.track_signup("u-2", "a-1", {"plan": "free"})

    def set(self):
        self.client.profile_set(profiles={"plan": "pro", "seats": 5}, **self.ids)

    def set_once(self):
        self.client.profile_set_once(profiles={"first": "2026-11-28"}, **self.ids)

    def increment(self):
        self.client.profile_increment(profiles={"logins": 1}, **self.ids)

    def append(self):
        self.client.profile_append(profiles={"tags": ["a"]}, **self.ids)

    def unset(self):
        self.client.profile_unset(profile_keys=["plan"], **self.ids)

    def delete(self):
        self.client.profile_delete(**self.ids)

    def screen(self):
        self.event("$AppViewScreen", {"$screen_name": "Product", "sku": "A-7"})

    def item_set(self):
        self.client.item_set("book", "b-1", {"title": "Tea"})

    def item_delete(self):
        self.client.item_delete("book", "b-1")

    def bind(self):
        self.client.bind(self.identity("$identity_login_id", self.user), self.identity("$identity_mobile", "123"))

    def unbind(self):
        self.client.unbind(self.identity("$identity_mobile", "123"))

    def timed(self):
        self.event("Checkout", {"items": 2, "event_duration": 1.5})

    def registered(self):
        self.client.register_super_properties({"tier": "gold"})
        self.in_group()
        self.client.clear_super_properties()

    def reset(self):
        self.user = None


class AsyncSensors(Sensors):
    consumer = "AsyncBatchConsumer"


class Thinking(Adapter):
    consumer = "TDBatchConsumer"

    def open(self, room):
        from tgasdk import sdk as module

        further = {"queue_size": room} if room and self.consumer == "TDAsyncBatchConsumer" else {}
        if room and not further:
            further = {"batch": 1, "max_cache_size": room}
        self.client = module.TDAnalytics(getattr(module, self.consumer)(self.url, "key", **further))

    def event(self, name, properties):
        self.client.track(distinct_id="a-1", account_id=self.user, event_name=name, properties=properties)


class AsyncThinking(Thinking):
    consumer = "TDAsyncBatchConsumer"


@contextlib.contextmanager
def replaced(module, name, value):
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


# By its vendor: the format of ours, the name for people, the package, and its ways of sending.
VENDORS = {
    "segment": ("segment", "Segment", "segment-analytics-python", {"Client": Segment}),
    "rudder": ("rudderStack", "RudderStack", "rudder-sdk-python", {"Client": Rudder}),
    "posthog": ("postHog", "PostHog", "posthog", {"capture v1": PostHog, "/batch/, its default": PostHogBatch}),
    "mixpanel": (
        "mixpanel", "Mixpanel", "mixpanel", {"Consumer": Mixpanel, "BufferedConsumer": BufferedMixpanel}),
    "amplitude": ("amplitude", "Amplitude", "amplitude-analytics", {"Amplitude": Amplitude}),
    "snowplow": ("snowplow", "Snowplow", "snowplow-tracker", {"Emitter": Snowplow, "AsyncEmitter": AsyncSnowplow}),
    "sensors": (
        "sensors", "Sensors Analytics", "SensorsAnalyticsSDK",
        {"BatchConsumer": Sensors, "AsyncBatchConsumer": AsyncSensors}),
    "thinking": (
        None, "ThinkingData", "ThinkingDataSdk",
        {"TDBatchConsumer": Thinking, "TDAsyncBatchConsumer": AsyncThinking}),
}
